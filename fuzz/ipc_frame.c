/* ipc_frame.c - what a Hadoop server sends, whole and in pieces, as the RPC layer reads it. */
#include "fuzz.h"
#include "hadoop/rpc/exception.h"
#include "hadoop/rpc/frame.h"
#include "hadoop/yarn_client.pb-c.h"

#include <stdlib.h>
#include <string.h>

static void read_body(const struct frame_answer *a)
{
    Ipc__RpcSasl *sasl = NULL;
    Yarn__GetApplicationReportResponse *report;

    if (frame_parse_sasl(a, &sasl, NULL) == 0)
        ipc__rpc_sasl__free_unpacked(sasl, NULL);
    if (!a->body)
        return;
    report = yarn__get_application_report_response__unpack(NULL, a->body_size, a->body);
    if (report)
        yarn__get_application_report_response__free_unpacked(report, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    size_t at = 0;

    for (;;) {
        int64_t n = frame_size(data + at, size - at, &err);
        struct frame_answer a;

        if (n <= 0 || (uint64_t)n > size - at)
            return 0;
        if (frame_parse(data + at, (size_t)n, &a, &err) == 0) {
            (void)rpc_exception_err(a.header->exception_class, a.header->error_message, &err);
            read_body(&a);
            frame_answer_done(&a);
        }
        at += (size_t)n;
    }
}
