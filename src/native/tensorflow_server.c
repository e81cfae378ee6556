/* tensorflow_server.c - runs TensorFlow's own gRPC server through its C interface, which is found
 * at run time: TensorFlow need not be there when ydl is built. Such a server never ends by itself;
 * whoever started the process ends it. See tensorflow_server.h. */
#include "native/tensorflow_server.h"
#include "base/dl.h"

#include <string.h>

/* As much of TensorFlow's C interface as is used; its header comes with a wheel only. Servers and
 * statuses are opaque. */
struct api {
    void *(*new_status)(void);
    void (*delete_status)(void *status);
    int (*get_code)(const void *status); /* 0: fine */
    const char *(*message)(const void *status);
    void *(*new_server)(const void *def, size_t n, void *status);
    void (*start)(void *server, void *status);
    void (*join)(void *server, void *status);
    const char *(*target)(void *server);
};

static int tensorflow_server_load(const char *library, struct api *ret, struct err *err)
{
    const struct dl_symbol symbols[] = {
        { "TF_NewStatus", (void **)&ret->new_status },
        { "TF_DeleteStatus", (void **)&ret->delete_status },
        { "TF_GetCode", (void **)&ret->get_code },
        { "TF_Message", (void **)&ret->message },
        { "TF_NewServer", (void **)&ret->new_server },
        { "TF_ServerStart", (void **)&ret->start },
        { "TF_ServerJoin", (void **)&ret->join },
        { "TF_ServerTarget", (void **)&ret->target },
    };
    void *handle = NULL;

    return dl_load(library, symbols, COUNT_OF(symbols), &handle, err);
}

static int tensorflow_server_failed(const struct api *api, const void *status, const char *what,
                                    struct err *err)
{
    const char *text = api->message(status);

    if (api->get_code(status) == 0)
        return 0;
    return err_set(err, -EIO, "%s: %.*s", what, (int)strcspn(text, "\n"), text);
}

/* TF_ServerStop is not called anywhere: it says that a clean shutdown is not implemented. A signal
 * ends the process. */
static int tensorflow_server_run(const struct api *api, const struct tf_options *o, void *status,
                                 struct err *err)
{
    void *server = api->new_server(o->def->data, o->def->len, status);
    int r = tensorflow_server_failed(api, status, "make the server", err);

    if (r < 0)
        return r;
    api->start(server, status);
    r = tensorflow_server_failed(api, status, "start the server", err);
    if (r < 0)
        return r; /* nothing of it can be given back: deleting a server that runs ends us */
    o->on_ready(o->arg, api->target(server));
    api->join(server, status);
    return tensorflow_server_failed(api, status, "run the server", err);
}

int tf_serve(const struct tf_options *o, struct err *err)
{
    struct api api;
    void *status;
    int r = tensorflow_server_load(o->library, &api, err);

    if (r < 0)
        return r;
    status = api.new_status();
    if (!status)
        return err_oom(err);
    r = tensorflow_server_run(&api, o, status, err);
    api.delete_status(status);
    return r;
}
