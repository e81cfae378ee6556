/* sha256.c - OpenSSL's SHA-256. Whatever it fails for is a lack of memory, but for a library that
 * was built without it. See sha256.h. */
#include "base/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE (256 * KIB)

struct sha256 {
    EVP_MD_CTX *md;
};

int sha256_new(struct sha256 **ret, struct err *err)
{
    AUTO_SHA256 *s = calloc(1, sizeof(*s));
    int r;

    if (!s || !(s->md = EVP_MD_CTX_new()))
        return err_oom(err);
    r = sha256_begin(s, err);
    if (r == 0)
        *ret = take(s);
    return r;
}

struct sha256 *sha256_free(struct sha256 *s)
{
    if (!s)
        return NULL;
    EVP_MD_CTX_free(s->md);
    free(s);
    return NULL;
}

int sha256_begin(struct sha256 *s, struct err *err)
{
    return EVP_DigestInit_ex(s->md, EVP_sha256(), NULL) == 1 ? 0 : err_oom(err);
}

int sha256_add(struct sha256 *s, const void *p, size_t n, struct err *err)
{
    return EVP_DigestUpdate(s->md, p, n) == 1 ? 0 : err_oom(err);
}

int sha256_end(struct sha256 *s, char ret[SHA256_TEXT], struct err *err)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (EVP_DigestFinal_ex(s->md, sum, &n) != 1 || n != (SHA256_TEXT - 1) / 2)
        return err_oom(err);
    for (unsigned i = 0; i < n; i++) {
        ret[2 * i] = digits[sum[i] >> 4];
        ret[2 * i + 1] = digits[sum[i] & 15];
    }
    ret[SHA256_TEXT - 1] = '\0';
    return 0;
}

int sha256_fd(int fd, const char *path, char ret[SHA256_TEXT], struct err *err)
{
    AUTO_FREE char *piece = malloc(PIECE);
    AUTO_SHA256 *s = NULL;
    int r = piece ? sha256_new(&s, err) : err_oom(err);

    while (r == 0) {
        ssize_t n = read(fd, piece, PIECE);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "read '%s'", path);
        if (n == 0)
            return sha256_end(s, ret, err);
        r = sha256_add(s, piece, (size_t)n, err);
    }
    return r;
}

int sha256_file(const char *path, char ret[SHA256_TEXT], struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? err_sys(err, "open '%s'", path) : sha256_fd(fd, path, ret, err);
}

int sha256_prime(struct err *err)
{
    unsigned char sum[EVP_MAX_MD_SIZE];

    return EVP_Digest("", 0, sum, NULL, EVP_sha256(), NULL) == 1 ? 0 : err_oom(err);
}
