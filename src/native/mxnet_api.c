/* mxnet_api.c - see mxnet_api.h */
#include "native/mxnet_api.h"
#include "base/auto.h"
#include "base/dl.h"

#include <string.h>

/* MXImperativeInvoke takes a list of outputs that is ours to fill, or makes one itself when the
 * list is NULL; then the array in it is the caller's. */
static int mxnet_api_apply(const struct mxnet_api *api, struct mxnet_call *c)
{
    void *op = NULL, **out = c->out ? &c->out : NULL; /* NULL: MXNet makes the list */
    int n_out = c->out ? 1 : 0;

    if (api->find_op(c->op, &op) != 0 || !op)
        return -1;
    if (api->invoke(op, c->n_in, c->in, &n_out, &out, c->n, c->names, c->values) != 0)
        return -1;
    if (n_out != 1)
        return -1;
    c->out = out[0];
    return 0;
}

int mxnet_api_load(const char *library, struct mxnet_api *ret, struct err *err)
{
    const struct dl_symbol symbols[] = {
        { "MXGetLastError", (void **)&ret->last_error },
        { "MXInitPSEnv", (void **)&ret->init_ps_env },
        { "MXKVStoreCreate", (void **)&ret->store_create },
        { "MXKVStoreFree", (void **)&ret->store_free },
        { "MXKVStoreRunServer", (void **)&ret->run_server },
        { "MXKVStoreSetUpdater", (void **)&ret->set_updater },
        { "NNGetOpHandle", (void **)&ret->find_op },
        { "MXImperativeInvoke", (void **)&ret->invoke },
        { "MXNDArrayFree", (void **)&ret->array_free },
    };
    void *handle = NULL;

    ret->apply = mxnet_api_apply;
    return dl_load(library, symbols, COUNT_OF(symbols), &handle, err);
}

int mxnet_api_failed(const struct mxnet_api *api, const char *what, struct err *err)
{
    const char *text = api->last_error();

    text = text ? text : "";
    return err_set(err, -EIO, "%s: %.*s", what, (int)strcspn(text, "\n"), text);
}
