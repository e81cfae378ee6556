/* cache_name.c - a maker is named by boot id, pid namespace, process id and start time: together
 * they are never used twice, so a name whose maker is gone can be removed at once.
 *
 *     .put-MACHINE-PID-START-NOISE    on its way; START: when the process began, in kernel ticks
 *     .gone-HASH-NOISE                taken away by prune, to be deleted
 *
 * MACHINE is a hash of boot id and pid namespace: within it a PID with its START is one process,
 * for ever. See cache_name.h. */
#include "uploads/cache_name.h"
#include "base/path.h"
#include "base/str.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define PUT ".put-"
#define GONE ".gone-"
#define NAME_MOST 100

/* ---- of files ---- */

const char *cache_ending(const char *name)
{
    static const char *const ends[] = { ".tar.gz", ".tgz", ".tar", ".zip", ".jar" };
    size_t n = strlen(name);

    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (n > strlen(ends[i]) && strcasecmp(name + n - strlen(ends[i]), ends[i]) == 0)
            return ends[i];
    return "";
}

char *cache_name(const char *path, bool packed)
{
    AUTO_FREE char *base = path_base(path);
    const char *end = base && !packed ? cache_ending(base) : "";
    size_t n = base ? strlen(base) - strlen(end) : 0;

    if (!base)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-", base[i]))
            base[i] = '_';
    if (*base == '.' || *base == '-')
        *base = '_';
    return str_printf("%.*s%s", (int)(n < NAME_MOST ? n : NAME_MOST), base, packed ? ".tar" : end);
}

/* ---- of what is on its way ---- */

bool cache_machine(char ret[CACHE_MACHINE])
{
    AUTO_BUF boot = { .max = 4 * KIB };
    unsigned char sum[EVP_MAX_MD_SIZE];
    char space[64] = "";

    if (path_read("/proc/sys/kernel/random/boot_id", &boot, NULL) < 0 ||
        readlink("/proc/self/ns/pid", space, sizeof(space) - 1) < 0 ||
        buf_add_str(&boot, space) < 0 ||
        EVP_Digest(boot.data, boot.len, sum, NULL, EVP_sha256(), NULL) != 1)
        return false;
    for (size_t i = 0; i < (CACHE_MACHINE - 1) / 2; i++)
        snprintf(ret + 2 * i, 3, "%02x", sum[i]);
    return true;
}

/* When a process was started, in the kernel's ticks; 0 when there is none. Field 22 of
 * /proc/PID/stat. Fields are counted behind the last ')', since the second one is the program's
 * name, which may hold blanks and brackets. */
static uint64_t started(uint64_t pid)
{
    AUTO_BUF text = { .max = 4 * KIB };
    char path[64];
    const char *p;

    snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
    if (path_read(path, &text, NULL) < 0 || !buf_text(&text))
        return 0;
    p = strrchr((const char *)text.data, ')'); /* its name may hold anything */
    for (int field = 2; p && field < 22; field++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    return p ? strtoull(p, NULL, 10) : 0;
}

static int noise(uint64_t *ret, struct err *err)
{
    return getrandom(ret, sizeof(*ret), 0) == sizeof(*ret) ? 0 : err_sys(err, "random bytes");
}

int cache_temp(char **ret, struct err *err)
{
    char machine[CACHE_MACHINE] = "0";
    uint64_t pid = (uint64_t)getpid(), random;
    int r = noise(&random, err);

    if (r < 0)
        return r;
    (void)cache_machine(machine);
    *ret = str_printf(PUT "%s-%" PRIu64 "-%" PRIu64 "-%016" PRIx64, machine, pid, started(pid),
                      random);
    return *ret ? 0 : err_oom(err);
}

static bool is_hex(const char *s)
{
    return strlen(s) <= CACHE_MACHINE - 1 && strspn(s, "0123456789abcdef") == strlen(s);
}

/* FAR: from another machine, an earlier boot of this one, or another pid namespace. Nobody here can
 * tell whether that process lives, so only age decides. */
enum cache_temp_maker cache_temp_maker(const char *name)
{
    char here[CACHE_MACHINE];
    int64_t pid, start;
    AUTO_STRS parts = { 0 };

    if (!str_starts(name, PUT) || strs_split(&parts, name + strlen(PUT), "-") < 0 || parts.n != 4 ||
        !is_hex(parts.v[0]) || !is_hex(parts.v[3]) ||
        str_to_i64(parts.v[1], 1, INT64_MAX, &pid) < 0 ||
        str_to_i64(parts.v[2], 0, INT64_MAX, &start) < 0)
        return CACHE_TEMP_NONE;
    if (!cache_machine(here) || !str_eq(parts.v[0], here) || start == 0)
        return CACHE_TEMP_FAR;
    return started((uint64_t)pid) == (uint64_t)start ? CACHE_TEMP_LIVES : CACHE_TEMP_DEAD;
}

int cache_gone(const char *hash, char **ret, struct err *err)
{
    uint64_t random;
    int r = noise(&random, err);

    if (r < 0)
        return r;
    *ret = str_printf(GONE "%s-%016" PRIx64, hash, random);
    return *ret ? 0 : err_oom(err);
}

bool cache_is_gone(const char *name)
{
    return str_starts(name, GONE);
}
