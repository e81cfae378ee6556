"""A small application whose instances find each other and write down every life they have: who they
are, and what addresses they were told."""

import json
import os
import signal

# Waits for as many addresses as there are instances, then for the file `finish`.
START = """
import urllib.request
def ask(path):
    with urllib.request.urlopen(os.environ['SLIDER_REST'] + '/' + path, timeout=120) as answer:
        return json.load(answer)
def addresses(name):
    entries = ask('publisher/exports/' + name)['entries'].get('host_port', [])
    return [entry['value'] for entry in entries]
wanted = {name: int(row['yarn.component.instances'])
          for name, row in ask('application/live/resources')['components'].items()
          if name != 'slider-appmaster'}
while any(len(addresses(name)) < n for name, n in wanted.items()):
    time.sleep(0.05)
own = '%s:%s' % (self.get_config()['hostname'], c[os.environ['YDL_ROLE'] + '.port'])
told = {name: addresses(name) for name in wanted}
assert told[os.environ['YDL_ROLE']][int(os.environ['YDL_RANK'])] == own, (own, told)
lives = os.environ['LIVES']
name = '%s/%s-%s' % (lives, os.environ['YDL_ROLE'], os.environ['YDL_RANK'])
with open(name, 'a') as file:
    file.write(json.dumps({'pid': os.getpid(), 'own': own, 'told': told,
                           'generation': int(os.environ['YDL_GENERATION']),
                           'rest': os.environ['SLIDER_REST']}) + '\\n')
while not os.path.exists(lives + '/finish'):
    if os.path.exists(name + '.leave'):
        sys.exit(int(open(name + '.leave').read()))
    time.sleep(0.05)
if os.environ['YDL_ROLE'] == 'ps':
    time.sleep(600)
"""
STOP = "open('%s/stopped' % os.environ['LIVES'], 'a').write(os.environ['YDL_ROLE'] + '\\n')"
METHODS = {"start": START, "stop": STOP}


class Lives:
    """What the instances of a running application wrote down."""

    def __init__(self, directory, wait_for):
        self.directory, self.wait_for = directory, wait_for
        directory.mkdir()

    def of(self, name: str) -> list[dict]:
        """The lives of one instance ("ps-0"), oldest first."""
        path = self.directory / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait(self, counts: dict[str, int]) -> dict[str, list[dict]]:
        """Until each has had so many."""
        def all_there():
            now = {name: self.of(name) for name in counts}
            return now if all(len(now[name]) >= n for name, n in counts.items()) else None
        return self.wait_for(all_there, f"lives {counts}", 60)

    def kill(self, name: str):
        """Ends the process that is its last life."""
        os.kill(self.of(name)[-1]["pid"], signal.SIGKILL)

    def leave(self, name: str, code: int):
        """Has one end by itself."""
        (self.directory / f"{name}.leave").write_text(str(code))

    def finish(self):
        """Everybody has done what there was to do."""
        (self.directory / "finish").touch()
