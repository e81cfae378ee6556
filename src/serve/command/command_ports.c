/* command_ports.c - the sockets that the processes have open, by their inodes, and which of those
 * the kernel's tables call listening. See command_ports.h. */
#include "serve/command/command_ports.h"
#include "base/str.h"

#include <ctype.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SOCKET "socket:["
#define SOCKETS_MAX 1024
#define PORTS_MAX 8

struct sockets {
    unsigned long inodes[SOCKETS_MAX];
    size_t n;
};

struct ports {
    unsigned v[PORTS_MAX];
    unsigned n;
};

/* The descriptors of one process: "socket:[12345]". */
static void add_sockets(const char *pid, struct sockets *l)
{
    char path[64], target[64];
    AUTO_DIR DIR *d = NULL;
    struct dirent *e;

    (void)snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
    d = opendir(path);
    while (d && l->n < SOCKETS_MAX && (e = readdir(d))) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);

        target[n > 0 ? n : 0] = '\0';
        if (str_starts(target, SOCKET))
            l->inodes[l->n++] = strtoul(target + strlen(SOCKET), NULL, 10);
    }
}

/* The words of a line that lie between blanks; returns how many there are, at most `most`. */
static size_t split_words(char *line, char **v, size_t most)
{
    size_t n = 0;
    char *one;

    while (n < most && (one = strsep(&line, " \n")))
        if (*one)
            v[n++] = one;
    return n;
}

/* PID (NAME) STATE PARENT GROUP SESSION …; a name may have anything in it.
 *
 * The program was started as the leader of a session of its own: whatever it has started since,
 * through a shell or not, is in it, unless it left. The name ends at the last parenthesis. */
static bool is_of_session(const char *pid, pid_t leader)
{
    char path[64], line[512], *v[4], *end;
    size_t n;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    n = fread(line, 1, sizeof(line) - 1, f);
    (void)fclose(f);
    line[n] = '\0';
    end = strrchr(line, ')');
    return end && split_words(end + 1, v, COUNT_OF(v)) == COUNT_OF(v) &&
           strtol(v[COUNT_OF(v) - 1], NULL, 10) == (long)leader;
}

static void find_sockets(pid_t leader, struct sockets *l)
{
    AUTO_DIR DIR *d = opendir("/proc");
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (isdigit((unsigned char)e->d_name[0]) && is_of_session(e->d_name, leader))
            add_sockets(e->d_name, l);
}

static void add_port(struct ports *ports, unsigned port)
{
    for (unsigned i = 0; i < ports->n; i++)
        if (ports->v[i] == port)
            return;
    if (ports->n < PORTS_MAX)
        ports->v[ports->n++] = port;
}

/* 0: ADDRESS:PORT ADDRESS:PORT STATE QUEUES TIMER:WHEN RETRANSMIT UID TIMEOUT INODE … */
enum { WORD_LOCAL = 1, WORD_STATE = 3, WORD_INODE = 9, WORDS_ };

static void add_line(char *line, const struct sockets *l, struct ports *ports)
{
    char *v[WORDS_], *colon;
    unsigned long inode;

    if (split_words(line, v, WORDS_) < WORDS_ || strtoul(v[WORD_STATE], NULL, 16) != TCP_LISTEN)
        return;
    colon = strrchr(v[WORD_LOCAL], ':');
    inode = strtoul(v[WORD_INODE], NULL, 10);
    for (size_t i = 0; colon && i < l->n; i++)
        if (l->inodes[i] == inode)
            add_port(ports, (unsigned)strtoul(colon + 1, NULL, 16));
}

static void find_ports(const char *table, const struct sockets *l, struct ports *ports)
{
    FILE *f = fopen(table, "re");
    char line[512];

    while (f && fgets(line, sizeof(line), f))
        add_line(line, l, ports);
    if (f)
        (void)fclose(f);
}

/* Only for the message to somebody whose program listens elsewhere than at {port}: hence no more
 * ports than a sentence has room for. */
unsigned command_ports(pid_t leader, char *out, size_t cap)
{
    AUTO_FREE struct sockets *l = calloc(1, sizeof(*l));
    struct ports ports = { .n = 0 };
    size_t at = 0;

    *out = '\0';
    if (!l)
        return 0;
    find_sockets(leader, l);
    find_ports("/proc/net/tcp", l, &ports);
    find_ports("/proc/net/tcp6", l, &ports);
    for (unsigned i = 0; i < ports.n && at < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%u",
                               i == 0             ? ""
                               : i + 1 == ports.n ? " and "
                                                  : ", ",
                               ports.v[i]);
    return ports.n;
}
