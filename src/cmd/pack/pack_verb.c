/* pack_verb.c - `ydl pack`: an environment or a directory as one archive. */
#include "base/json.h"
#include "base/path.h"
#include "cli/doc.h"
#include "cli/globals.h"
#include "cli/progress.h"
#include "cmd/verbs.h"
#include "loop/fiber.h"
#include "loop/work.h"
#include "pyenv/pack_file.h"
#include "pyenv/pyenv.h"

#include <string.h>
#include <sys/stat.h>

#define HASH_SHOWN 12 /* digits in a name */

struct args {
    const char *output, *name;
    int format;
    unsigned level;
};

#define AT(field) offsetof(struct args, field)

enum format { FORMAT_TGZ, FORMAT_TAR };
static const char *const formats[] = { "tar.gz", "tar", NULL };

/* What is being packed. */
struct packing {
    const struct cli *cli;
    const struct args *args;
    struct loop *loop;
    struct pyenv env;
    struct pack_list list;
    struct strs notes;
    struct pack_file *file;
    char *path;
    char hash[SHA256_TEXT];
    struct err *err;
};

/* ---- looking ---- */

static int look_at_source(void *arg)
{
    struct packing *p = arg;
    int r = pyenv_look(p->cli->operands[0], &p->env, p->err);

    if (r == 0)
        r = pyenv_list(&p->env, &p->list, p->err);
    if (r == 0 && pack_size(&p->list) == 0)
        r = err_oom(p->err);
    if (r == 0 && pyenv_notes(&p->env, &p->list, &p->notes) < 0)
        r = err_oom(p->err);
    return r;
}

/* ---- its name ---- */

/* Without a link and without "." at its end; "/" itself has none. */
static const char *real_name(const struct packing *p)
{
    return p->env.prefixes.n ? p->env.prefixes.v[0] : "root";
}

static bool is_directory(const char *path)
{
    struct stat st;

    return str_ends(path, "/") || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* "DIR/env-0123456789ab.tar.gz", or what --output says. */
static char *file_name(const struct packing *p)
{
    const char *output = p->args->output ? p->args->output : "";
    AUTO_FREE char *base = p->args->name ? strdup(p->args->name) : path_base(real_name(p));
    AUTO_FREE char *name = NULL;

    if (*output && !is_directory(output))
        return strdup(output);
    name =
        base ? str_printf("%s-%.*s.%s", base, HASH_SHOWN, p->hash, formats[p->args->format]) : NULL;
    return name ? path_join(output, name) : NULL;
}

/* Where it is written before its hash is known: beside where it will be. */
static char *first_name(const struct packing *p)
{
    const char *output = p->args->output ? p->args->output : "";

    return *output && !is_directory(output) ? strdup(output) : path_join(output, "ydl-pack");
}

/* ---- writing ---- */

static int write_some(void *arg)
{
    struct packing *p = arg;

    return pack_file_some(p->file, p->err);
}

static int write_archive(struct packing *p, struct err *err)
{
    AUTO_PROGRESS *line = NULL;
    int r =
        progress_begin(real_name(p), pack_size(&p->list), globals_of(p->cli)->quiet, &line, err);

    if (r < 0)
        return r;
    do {
        if (fiber_cancelled(p->loop))
            return err_set(err, -ECANCELED, "interrupted");
        r = work_run(p->loop, write_some, p);
        progress_set(line, pack_file_done(p->file));
    } while (r > 0);
    return r < 0 ? r : pack_file_hash(p->file, p->hash, err);
}

static int make_archive(struct packing *p, struct err *err)
{
    AUTO_FREE char *first = first_name(p);
    AUTO_PATH_OUT out = PATH_OUT_INIT;
    int level = p->args->format == FORMAT_TAR ? 0 : (int)p->args->level;
    int r = first ? path_out_begin(&out, first, 0644, err) : err_oom(err);

    if (r == 0)
        r = pack_file_new(&p->list, out.fd, level, &p->file, err);
    if (r == 0)
        r = write_archive(p, err);
    if (r < 0)
        return r;
    p->path = file_name(p);
    free(out.path);
    out.path = p->path ? strdup(p->path) : NULL;
    return out.path ? path_out_commit(&out, err) : err_oom(err);
}

/* ---- saying ---- */

static int print_archive_json(const struct packing *p, struct err *err)
{
    return doc_print(err, "{s:o, s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "path", json_text(p->path),
                     "kind", pyenv_kind_name(p->env.kind), "hash", p->hash, "size",
                     (json_int_t)pack_file_written(p->file), "files", (json_int_t)p->list.n_files,
                     "bytes", (json_int_t)p->list.bytes, "python", json_text(p->env.python),
                     "notes", json_texts(p->notes.v, p->notes.n));
}

static int print_archive(const struct packing *p, struct err *err)
{
    const struct globals *g = globals_of(p->cli);
    char text[1024], bytes[STR_SIZE_MAX], size[STR_SIZE_MAX];

    for (size_t i = 0; i < p->notes.n && !g->quiet; i++) {
        str_clean(text, sizeof(text), p->notes.v[i]);
        fprintf(stderr, "ydl: note: %s\n", text);
    }
    if (g->json)
        return print_archive_json(p, err);
    if (!g->quiet)
        fprintf(stderr, "ydl: %s: %llu files, %s, packed %s\n", pyenv_kind_name(p->env.kind),
                (unsigned long long)p->list.n_files, str_size(p->list.bytes, bytes),
                str_size(pack_file_written(p->file), size));
    str_clean(text, sizeof(text), p->path);
    printf("%s\n", text);
    return fflush(stdout) < 0 || ferror(stdout) ? err_sys(err, "write the output") : 0;
}

/* ---- all of it ---- */

static int pack_source(void *arg)
{
    struct packing *p = arg;
    int r = work_run(p->loop, look_at_source, p);

    if (r == 0)
        r = make_archive(p, p->err);
    return r < 0 ? r : print_archive(p, p->err);
}

static int pack_run(struct cli *c, struct err *err)
{
    struct packing p = { .cli = c, .args = c->args, .err = err };
    int r;

    if (p.args->level < 1 || p.args->level > 9)
        return cli_bad(err, "option '--level': %u is not from 1 to 9", p.args->level);
    r = sha256_prime(err);
    if (r < 0)
        return r;
    r = loop_new(&p.loop, err);
    if (r == 0)
        r = loop_run(p.loop, pack_source, &p, true);
    if (r < 0 && p.loop && loop_signal(p.loop))
        r = err_set(err, -ECANCELED, "interrupted");
    pack_file_free(p.file);
    pack_list_done(&p.list);
    pyenv_done(&p.env);
    strs_done(&p.notes);
    free(p.path);
    loop_free(p.loop);
    return r;
}

/* clang-format off */
const struct cli_verb verb_pack = {
    .name = "pack", .summary = "pack a Python environment or a directory", .operands = "DIR",
    .least = 1, .most = 1, .complete = CLI_DIRS, .ask = "Which directory?",
    .lacks = GLOBALS_CLUSTER, .run = pack_run,
    .text = "Makes an archive of a venv, a conda environment or any other directory that can be "
            "unpacked anywhere, and prints its path. This is needed only for --archives: --venv "
            "packs and uploads an environment automatically.",
    CLI_OPTS(struct args,
        { "output", 'o', CLI_TEXT, AT(output), NULL, "PATH",
          "file to make, or directory to put it in", .fallback = "the current directory" },
        { "name", 0, CLI_TEXT, AT(name), NULL, "NAME", "prefix of the file's name",
          .fallback = "the name of DIR" },
        { "format", 0, CLI_CHOICE, AT(format), "tar.gz", "FORMAT",
          "archive format; YARN unpacks both", formats },
        { "level", 0, CLI_COUNT, AT(level), "6", "N",
          "compression level, from 1 (fast) to 9 (small)" }),
    CLI_EXAMPLES({ "ydl pack env", "make env-HASH.tar.gz of the environment env" },
                 { "ydl run --archives $(ydl pack -q data -o /tmp)#data -- ./job",
                   "put a directory beside every task" },
                 { "ydl pack env -o env.tar.gz && ydl fs put env.tar.gz /envs/",
                   "share an environment; others use it with --venv hdfs:///envs/env.tar.gz" }),
    CLI_SECTIONS(
      { "ENVIRONMENTS",
        "A venv is recognized by its pyvenv.cfg, a conda environment by its conda-meta. In the "
        "archive, scripts look for the interpreter in their own directory, and bin/activate "
        "detects its path, so that the archive can be unpacked anywhere. Caches of compiled code "
        "are excluded, and so are pkgs, envs and conda-bld of conda's base environment.\n\n"
        "The python of a venv remains a link to the interpreter it was made with: every machine "
        "needs that interpreter at the same path. A conda environment includes its own. Some of "
        "its files (configurations, a few programs and libraries) contain its path; in the archive "
        "they contain the placeholders of their packages. Jobs replace these automatically; after "
        "unpacking by hand, run bin/conda-unpack.\n\n"
        "Packages installed with pip install -e are not part of an environment; a note "
        "names them." },
      { "FILES",
        "NAME-HASH.tar.gz\tHASH is the beginning of the SHA-256 of the archive before compression. "
        "The same content gives the same bytes and the same name: entries are sorted, have no "
        "owner, and have the same time." },
      { "JSON OUTPUT",
        "path\tThe archive.\n"
        "kind\tvenv, conda or directory.\n"
        "hash\tThe complete hash.\n"
        "size\tSize of the archive in bytes.\n"
        "files, bytes\tNumber and total size of the files in it.\n"
        "python\tThe interpreter it needs on every machine, or null.\n"
        "notes\tWhat to know before using it elsewhere." }),
};
/* clang-format on */
