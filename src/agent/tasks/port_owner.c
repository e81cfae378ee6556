/* port_owner.c - who has a port, from /proc: the kernel's table of sockets gives the inode, and the
 * descriptors of all processes are searched for it. */
#include "agent/tasks/port_owner.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define TABLE_MAX (4 * MIB)

/* A line: "  0: 0100007F:2710 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 INODE"
 */
static bool line_is(const char *line, unsigned number, const char **ret_port)
{
    const char *p = strchr(line, ':'); /* after the line's own number */

    p = p ? strchr(p + 1, ':') : NULL;
    *ret_port = p ? p + 1 : NULL;
    return p && strtoul(p + 1, NULL, 16) == number;
}

static unsigned long line_inode(const char *p)
{
    unsigned long inode;

    for (int field = 0; field < 8; field++) { /* port … inode */
        p += strcspn(p, " \n");
        p += strspn(p, " ");
    }
    inode = strtoul(p, NULL, 10);
    return inode;
}

/* Of the first line that has one; *ret_lines counts those of the port with and without. */
static unsigned long find_inode(const char *table, unsigned number, size_t *ret_lines)
{
    AUTO_BUF text = { .max = TABLE_MAX };
    const char *line, *port;

    if (path_read(table, &text, NULL) < 0 || !buf_text(&text))
        return 0;
    for (line = strchr((const char *)text.data, '\n'); line && line[1];
         line = strchr(line + 1, '\n')) {
        unsigned long inode;

        if (!line_is(line + 1, number, &port))
            continue;
        (*ret_lines)++;
        inode = line_inode(port);
        if (inode)
            return inode;
    }
    return 0;
}

/* 0 when there is none, as for a connection whose owner has gone. */
static unsigned long port_inode(unsigned number, size_t *ret_lines)
{
    unsigned long inode = find_inode("/proc/net/tcp", number, ret_lines);

    return inode ? inode : find_inode("/proc/net/tcp6", number, ret_lines);
}

bool port_in_use(unsigned number)
{
    size_t lines = 0;

    return port_inode(number, &lines) != 0;
}

bool port_lingers(unsigned number)
{
    size_t lines = 0;

    return port_inode(number, &lines) == 0 && lines > 0;
}

static bool has_socket(const char *pid, const char *wanted)
{
    char path[64], link[64];
    struct dirent *e;
    bool found = false;
    AUTO_DIR DIR *d = NULL;

    snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
    d = opendir(path);
    if (!d)
        return false;
    while (!found && (e = readdir(d))) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

        link[n > 0 ? n : 0] = '\0';
        found = str_eq(link, wanted);
    }
    return found;
}

static void port_describe(const char *pid, char out[PORT_OWNER_MAX])
{
    AUTO_BUF name = { .max = 64 };
    char path[64], clean[24] = "?";

    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    if (path_read(path, &name, NULL) == 0 && buf_text(&name)) {
        name.data[strcspn((const char *)name.data, "\n")] = '\0';
        str_clean(clean, sizeof(clean), (const char *)name.data);
    }
    snprintf(out, PORT_OWNER_MAX, "process %.16s (%s)", pid, clean);
}

bool port_owner(unsigned number, char out[PORT_OWNER_MAX])
{
    size_t lines = 0;
    unsigned long inode = port_inode(number, &lines);
    char wanted[40];
    struct dirent *e;
    bool found = false;
    AUTO_DIR DIR *d = NULL;

    d = inode ? opendir("/proc") : NULL;
    if (!d)
        return false;
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    while (!found && (e = readdir(d))) {
        found = isdigit((unsigned char)e->d_name[0]) && has_socket(e->d_name, wanted);
        if (found)
            port_describe(e->d_name, out);
    }
    return found;
}
