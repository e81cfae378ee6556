/* set.h - what a struct credentials is made of. Private to this directory. */
#pragma once
#include "hadoop/token/credentials.h"

#define SET_MAX 4096               /* tokens, and secrets; clusters have a dozen */
#define CREDENTIALS_MAX (16 * MIB) /* bytes of a file */

struct entry {
    char *alias;
    struct token token;
};

struct secret {
    char *alias;
    uint8_t *p;
    size_t n;
};

struct credentials {
    struct entry *tokens;
    size_t n_tokens;
    struct secret *secrets;
    size_t n_secrets;
};

/* Take over what they are given, also when they fail; one with the same alias is replaced.
 * -E2BIG, -ENOMEM. */
int set_take_token(struct credentials *c, struct entry *e);
int set_take_secret(struct credentials *c, struct secret *s);

void entry_done(struct entry *e);
void secret_done(struct secret *s);
