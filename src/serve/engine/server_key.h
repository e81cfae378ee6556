/* server_key.h - who may ask a model server that has keys (serve/key_file.h): who shows one, and
 * whoever looks whether it lives. Fibers only. */
#pragma once
#include "serve/key_file.h"
#include "wire/http.h"

#define SERVER_KEY_WANTED "A key is needed: send the header 'Authorization: Bearer KEY'."

bool server_key_shown(const struct key_set *keys, struct http_call *c);
/* Answers 401. */
int server_key_ask(struct http_call *c, struct err *err);
