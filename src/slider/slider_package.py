"""An application in a task's directory: where everything is, what command.json says, and the
packages. Part of agent.py."""

import json
import os
import re
import shutil
import tarfile
import zipfile
import zlib

DEPTH_MAX = 8  # references to references in the configuration

CONF = re.compile(r"\$\{@//site/([^/}]+)/([^}]+)\}|\{\$conf:@//site/([^/}]+)/([^}]+)\}")
TOKEN = re.compile(r"\$\{([A-Z_]+)\}")


class Wrong(Exception):
    """The application cannot be run; the sentence says why."""


class Unusable(Wrong):
    """However often it is tried."""


# ---- the directories ----

class Places:
    """Where everything is, below the task's directory."""

    def __init__(self, root):
        self.root = root
        self.app = os.path.join(root, "app")
        self.definition = os.path.join(self.app, "definition")
        self.install, self.run, self.log, self.conf, self.tmp = (
            os.path.join(self.app, name) for name in ("install", "run", "log", "conf", "tmp"))
        self.command = os.path.join(self.app, "command.json")
        self.pid_file = os.path.join(self.run, "component.pid")
        self.library = os.path.dirname(os.path.abspath(__file__))

    def make(self):
        """Everything but what came with the task; what an earlier start left is cleared away."""
        if not os.path.isdir(self.definition):
            raise Wrong("the application's package is not at '%s'" % self.definition)
        for path in (self.install, self.run, self.tmp):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.install, self.run, self.log, self.conf, self.tmp):
            os.makedirs(path, exist_ok=True)

    def package(self):
        """The directory that has scripts, files and templates in it."""
        inner = os.path.join(self.definition, "package")
        return inner if os.path.isdir(inner) else self.definition

    def script(self, name):
        """The component's script."""
        for base in (self.package(), self.definition):
            path = os.path.normpath(os.path.join(base, name))
            if path.startswith(self.definition + os.sep) and os.path.isfile(path):
                return path
        raise Unusable("the package has no script '%s'" % name)


# ---- the configuration ----

def implicit(places):
    """What every script finds in its global dictionary."""
    rank = os.environ.get("YDL_RANK", "0")
    own = "-".join(os.environ.get(name, "") for name in ("YDL_JOB", "YDL_ROLE", "YDL_RANK"))
    return {
        "app_root": places.install, "app_install_dir": places.install, "app_log_dir": places.log,
        "app_pid_dir": places.run, "app_conf_dir": places.conf, "app_input_conf_dir": places.conf,
        "pid_file": places.pid_file,
        "app_container_id": os.environ.get("YDL_CONTAINER") or own,
        "app_container_tag": str(int(rank) + 1),
    }


def resolve(text, values, tokens, depth=0):
    """A value with what it refers to in place; what nobody knows stays as it is."""
    def conf(match):
        name, key = (match.group(1), match.group(2)) if match.group(1) else match.group(3, 4)
        found = values.get(name, {}).get(key)
        return match.group() if found is None else resolve(found, values, tokens, depth + 1)

    if not isinstance(text, str) or depth > DEPTH_MAX:
        return str(text)
    text = CONF.sub(conf, text)
    return TOKEN.sub(lambda m: tokens.get(m.group(1)) or m.group(), text)


def make_command(template, places):
    """All of command.json: the template, with what is known here."""
    tokens = {"AGENT_WORK_ROOT": places.root, "AGENT_LOG_ROOT": places.log,
              "JAVA_HOME": os.environ.get("JAVA_HOME", "")}
    configurations = {name: dict(values)
                      for name, values in template.get("configurations", {}).items()}
    for key, value in implicit(places).items():
        configurations.setdefault("global", {}).setdefault(key, value)
    made = dict(template)
    made["configurations"] = {
        name: {key: resolve(value, configurations, tokens) for key, value in values.items()}
        for name, values in configurations.items()}
    component = template.get("componentName", os.environ.get("YDL_ROLE", ""))
    for key, value in {"commandType": "EXECUTION_COMMAND", "role": component,
                       "componentName": component, "clusterName": template.get("appName", ""),
                       "serviceName": template.get("appName", ""),
                       "hostname": os.environ.get("YDL_HOST", "localhost"), "commandId": "1-1",
                       "hostLevelParams": {"java_home": tokens["JAVA_HOME"]}}.items():
        made.setdefault(key, value)
    return made


def write_command(places, command, name):
    """command.json for one command; for nobody else's eyes, as configurations have passwords."""
    path = places.command + ".new"
    if os.path.lexists(path):
        os.unlink(path)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(dict(command, roleCommand=name), file)
    os.replace(path, places.command)


def read_template():
    """SLIDER_COMMAND as a dictionary."""
    text = os.environ.get("SLIDER_COMMAND")
    if not text:
        raise Wrong("SLIDER_COMMAND is not set: this is run by a job of the framework 'slider'")
    try:
        template = json.loads(text)
    except ValueError as err:
        raise Wrong("SLIDER_COMMAND is no JSON: %s" % err)
    if not isinstance(template, dict) or not template.get("commandParams", {}).get("script"):
        raise Wrong("SLIDER_COMMAND names no script of the component")
    return template


# ---- packages ----

class Inside:
    """A directory that nothing may lead out of, whatever has been unpacked there before."""

    def __init__(self, archive, into):
        self.archive, self.into = archive, os.path.realpath(into)

    def check(self, name, *path):
        """Where a path below it really is; what is outside is refused."""
        real = os.path.realpath(os.path.join(self.into, *path))
        if not (real + os.sep).startswith(self.into + os.sep):
            raise Wrong("'%s': '%s' in it leads out of it" % (self.archive, name))


def unpack_tar(archive, inside):
    """One member after the other, as links among them change what the next one's name means."""
    for member in archive:
        inside.check(member.name, member.name)
        if member.issym():
            inside.check(member.name, os.path.dirname(member.name), member.linkname)
        elif member.islnk():
            inside.check(member.name, member.linkname)
        elif not (member.isreg() or member.isdir()):
            raise Wrong("'%s': '%s' in it is neither file, directory nor link" % (
                inside.archive, member.name))
        member.mode = (member.mode or 0o600) & 0o777
        archive.extract(member, inside.into, set_attrs=not member.isdir())


def unpack_zip(archive, inside):
    """The same; programs stay programs."""
    for member in archive.infolist():
        inside.check(member.filename, member.filename)
        path = archive.extract(member, inside.into)
        if not member.is_dir() and (member.external_attr >> 16) & 0o111:
            os.chmod(path, 0o755)


def unpack(path, into):
    """An archive of the package; nothing in it may lead out of `into`."""
    name = os.path.basename(path)
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                unpack_zip(archive, Inside(name, into))
        elif tarfile.is_tarfile(path):
            with tarfile.open(path) as archive:
                unpack_tar(archive, Inside(name, into))
        else:
            raise Wrong("'%s' of the package is no archive that can be unpacked" % name)
    except (zipfile.BadZipFile, tarfile.TarError, RuntimeError, EOFError, OSError, zlib.error) as err:
        raise Wrong("'%s' of the package cannot be unpacked: %s" % (name, err))


def copy_into(folder, into):
    """A folder's contents."""
    for name in sorted(os.listdir(folder)):
        source, target = os.path.join(folder, name), os.path.join(into, name)
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
            copy_into(source, target)
        else:
            shutil.copy2(source, target)


def install_packages(packages, places):
    """What the application's own INSTALL may rely on: folders and archives in app/install."""
    for package in packages:
        name = str(package.get("name", ""))
        path = os.path.normpath(os.path.join(places.package(), name))
        if not name or not path.startswith(places.definition + os.sep) or not os.path.exists(path):
            raise Wrong("the package has no '%s', which its metainfo names" % name)
        if os.path.isdir(path):
            copy_into(path, places.install)
        else:
            unpack(path, places.install)
