/* json_bench.c - 784 floats as JSON, an image of 28 × 28: read and printed as the model server does
 * it, beside strtof() and printf("%.9g"), which is how it would be done by hand. The two take
 * turns, and each figure is the median of many rounds. */
#include "serve/protocol/json_values.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define FLOATS 784
#define ROUNDS 401
#define REPEATS 20 /* of each in a round */

struct bench {
    float in[FLOATS], out[FLOATS];
    struct tensor t;
    struct buf text;
    char plain[FLOATS * 20];
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void read_ours(struct bench *b)
{
    struct json_sink sink = { .type = TENSOR_FP32, .bytes = { .max = sizeof(b->out) } };
    AUTO_JSON_DOC *doc = NULL;
    struct json_trouble why;
    yyjson_val *bad, *list;

    if (json_doc_read(b->text.data, b->text.len, false, &doc, &why) < 0)
        abort();
    list = yyjson_doc_get_root(doc);
    if (json_sink_add(&sink, yyjson_arr_get_first(list), yyjson_arr_size(list), &bad) < 0)
        abort();
    memcpy(b->out, sink.bytes.data, sizeof(b->out));
    buf_done(&sink.bytes);
}

static void read_plain(struct bench *b)
{
    char *p = (char *)b->text.data + 1;

    for (int i = 0; i < FLOATS; i++)
        b->out[i] = strtof(p, &p), p++;
}

static void print_ours(struct bench *b)
{
    struct json_source s = { .t = &b->t };

    buf_done(&b->text);
    if (json_values_print(&b->text, &s, 0) < 0)
        abort();
}

static void print_plain(struct bench *b)
{
    char *p = b->plain;

    for (int i = 0; i < FLOATS; i++)
        p += snprintf(p, 20, "%.9g,", (double)b->in[i]);
}

static double measure(struct bench *b, void (*work)(struct bench *b))
{
    double begin = now_us();

    for (int i = 0; i < REPEATS; i++)
        work(b);
    return (now_us() - begin) / REPEATS;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void row(struct bench *b, const char *what, void (*ours)(struct bench *b),
                void (*plain)(struct bench *b))
{
    static double us[ROUNDS], them[ROUNDS], ratio[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        us[i] = measure(b, ours);
        them[i] = measure(b, plain);
        ratio[i] = them[i] / us[i];
    }
    qsort(us, ROUNDS, sizeof(*us), compare);
    qsort(them, ROUNDS, sizeof(*them), compare);
    qsort(ratio, ROUNDS, sizeof(*ratio), compare);
    printf("%-20s %6.1f us  by hand %6.1f us  %.1f x\n", what, us[ROUNDS / 2], them[ROUNDS / 2],
           ratio[ROUNDS / 2]);
}

int main(void)
{
    static struct bench b = { .text = { .max = MIB } };
    struct tensor t = { .type = TENSOR_FP32,
                        .rank = 1,
                        .dims = { FLOATS },
                        .count = FLOATS,
                        .data = (const uint8_t *)b.in,
                        .size = sizeof(b.in) };

    for (uint32_t i = 0, n = 1; i < FLOATS; i++) {
        n = n * 1664525 + 1013904223; /* numbers that look like any others */
        b.in[i] = (float)n / (float)UINT32_MAX;
    }
    b.t = t;
    row(&b, "print 784 floats", print_ours, print_plain);
    row(&b, "read 784 floats", read_ours, read_plain);
    if (memcmp(b.in, b.out, sizeof(b.in)) != 0)
        printf("but what was read is not what was printed\n");
    buf_done(&b.text);
    return 0;
}
