/* ce.h - a stand-in for YARN's container-executor, so that a real NodeManager with
 * LinuxContainerExecutor and its docker runtime can run in the tests.
 *
 * It keeps the calling contract (arguments, owners and modes of what it makes, exit codes) and none
 * of the guarding: the real program is set-uid and distrusts its caller, this one is run by a
 * NodeManager that is root. Short-lived, one thread; everything may block. Functions end the
 * process with one of the codes below when there is nobody to tell, saying why on standard error.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum ce_code { /* what a NodeManager understands by an exit status */
               CE_OK = 0,
               CE_BAD_ARGUMENTS = 1,
               CE_BAD_USER = 2,
               CE_BAD_COMMAND = 3,
               CE_DOCKER_FAILED = 7,
               CE_CANNOT_SIGNAL = 8,
               CE_NO_SUCH_CONTAINER = 9,
               CE_CANNOT_PREPARE = 20,
               CE_CANNOT_DELETE = 21,
               CE_CANNOT_EXEC = 22,
               CE_CANNOT_REMOVE = 29,
};

enum { CE_LIST_MAX = 64, CE_PATH_MAX = 4096, CE_FILE_MAX = 256 * 1024 };

/* Prints "container-executor: …" and exits with `code`. */
__attribute__((noreturn, format(printf, 2, 3))) void ce_die(enum ce_code code, const char *fmt,
                                                            ...);

/* A list of words; the words are the caller's, or live until the process ends. */
struct ce_words {
    char *word[CE_LIST_MAX * 4];
    size_t n;
};

void ce_add(struct ce_words *words, char *word);
/* Cuts `text` at `mark` and adds the pieces; `text` is changed. Empty pieces are left out. */
void ce_split(struct ce_words *words, char *text, char mark);
/* A new text, printed; it lives until the process ends. */
__attribute__((format(printf, 1, 2))) char *ce_text(const char *fmt, ...);
/* A whole small file as a new text, a NUL after its last byte; `ret_length` may be NULL. NULL with
 * errno when it cannot be read. */
char *ce_read(const char *path, size_t *ret_length);

/* user.c: who does it. The NodeManager's own identity is root's. */
void ce_user(const char *name); /* looks up the user that everything below is about */
void ce_act_as_user(void);      /* for files: can be taken back */
void ce_act_as_manager(void);   /* takes it back */
void ce_become_user(void);      /* for good, groups included */
uid_t ce_uid(void);

/* files.c: what is made for a container, with the owners and modes that a NodeManager relies on. */
struct ce_place {
    const char *owner; /* whose cache: the user that submitted the application */
    const char *app, *container, *workdir;
    struct ce_words local, log;
};

void ce_make_user_dirs(const struct ce_place *place, const char *container);
void ce_make_app_dirs(const struct ce_place *place);
void ce_make_work_dirs(const struct ce_place *place);
void ce_make_docker_dirs(const struct ce_place *place);      /* what is mounted has to be there */
void ce_copy(const char *from, const char *to, mode_t mode); /* read by root, written by the user */
/* Writes `text` to `path` in one step: nobody sees half of it. */
void ce_write_whole(const char *path, const char *text);
int ce_delete(const char *path, bool top_is_managers);

/* docker.c: docker as the NodeManager's command files ask for it. */
struct ce_docker {
    struct ce_words argv;
    const char *name;
    bool detached;
};

void ce_docker_command(const char *file, struct ce_docker *ret);
void ce_docker_fixed(struct ce_docker *ret, char *verb, ...); /* words, then NULL */
__attribute__((noreturn)) void ce_docker_exec(struct ce_docker *docker);
/* Runs it to its end; its output goes to `out` (NULL: ours) and `err`. The exit status. */
int ce_docker_run(struct ce_docker *docker, const char *out, const char *err);
/* The first line of what it prints, or NULL when it fails. */
char *ce_docker_ask(struct ce_docker *docker);
/* What a command file says; NULL when it does not. */
char *ce_command_value(const char *file, const char *key);

/* The commands; `argv` begins after the number and ends with NULL. Each returns the exit status. */
int ce_initialize(const char *owner, char **argv);
int ce_launch(const char *owner, char **argv);
int ce_launch_docker(const char *owner, char **argv);
