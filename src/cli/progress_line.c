/* progress_line.c - the text of a progress line: pure, see progress.h. */
#include "base/str.h"
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>

#define BAR_MOST 30
#define BAR_LEAST 8
#define LABEL_LEAST 8
#define PART_MAX 48

const char *progress_time(uint64_t seconds, char out[PROGRESS_TIME_MAX])
{
    unsigned s = (unsigned)(seconds % 60), m = (unsigned)(seconds / 60 % 60);
    uint64_t h = seconds / 3600;

    if (h >= 100)
        out[0] = '\0';
    else if (h)
        snprintf(out, PROGRESS_TIME_MAX, "%u:%02u:%02u", (unsigned)h, m, s);
    else
        snprintf(out, PROGRESS_TIME_MAX, "%u:%02u", m, s);
    return out;
}

/* Parts after the bar, in the order they are shown; those further down are dropped first. */
enum part { PERCENT, RATE, LEFT, AMOUNT, PARTS_ };
static const enum part shown_as[PARTS_] = { PERCENT, AMOUNT, RATE, LEFT };

static void progress_make_parts(const struct progress_view *v, char part[PARTS_][PART_MAX])
{
    char done[STR_SIZE_MAX], total[STR_SIZE_MAX], rate[STR_SIZE_MAX], left[PROGRESS_TIME_MAX];
    uint64_t all = v->total > v->done ? v->total : v->done;

    str_size(v->done, done);
    if (v->total > 0) {
        /* Only what is complete is 100 %; divided first, since bytes times 100 may overflow. */
        unsigned percent = (unsigned)((double)v->done / (double)all * 100);

        snprintf(part[PERCENT], PART_MAX, "  %3u %%", v->done < all && percent > 99 ? 99 : percent);
        snprintf(part[AMOUNT], PART_MAX, "  %s of %s", done, str_size(all, total));
    } else {
        snprintf(part[PERCENT], PART_MAX, "  %s", done);
    }
    if (v->rate < 1)
        return;
    snprintf(part[RATE], PART_MAX, "  %s/s", str_size((uint64_t)v->rate, rate));
    if (v->total > v->done && (double)(v->total - v->done) / v->rate < 360000)
        snprintf(part[LEFT], PART_MAX, "  %s left",
                 progress_time((uint64_t)((double)(v->total - v->done) / v->rate + 0.5), left));
}

/* Copies at most `most` columns of the label, with an ellipsis where it is cut. */
static size_t progress_put_label(const struct progress_view *v, size_t most, char *out, size_t cap)
{
    char clean[PROGRESS_LINE_MAX / 2];
    size_t columns = 0, bytes = 0, len;

    str_clean(clean, sizeof(clean), v->label);
    for (const char *s = clean; *s; s++)
        columns += (*s & 0xc0) != 0x80;
    if (columns <= most) {
        snprintf(out, cap, "%s", clean);
        return columns;
    }
    len = most - (v->utf8 ? 1 : 2);
    for (size_t i = 0; i < len; i++) {
        bytes++;
        while ((clean[bytes] & 0xc0) == 0x80)
            bytes++;
    }
    snprintf(out, cap, "%.*s%s", (int)bytes, clean, v->utf8 ? "…" : "..");
    return most;
}

static void put_bar(const struct progress_view *v, size_t columns, char *out, size_t cap)
{
    uint64_t all = v->total > v->done ? v->total : v->done;
    size_t full = (size_t)((double)v->done / (double)all * (double)columns), n = 0;
    const char *on = v->utf8 ? "━" : "=", *off = v->utf8 ? "─" : "-";

    for (size_t i = 0; i < columns && n < cap; i++) {
        if (i == full && v->colour)
            n += (size_t)snprintf(out + n, cap - n, "\033[2m");
        n += (size_t)snprintf(out + n, cap - n, "%s", i < full ? on : off);
    }
    if (full < columns && v->colour && n < cap)
        snprintf(out + n, cap - n, "\033[0m");
}

size_t progress_line(const struct progress_view *v, char out[PROGRESS_LINE_MAX])
{
    size_t room = v->width > 1 ? v->width - 1 : 0, columns, used = 0, n;
    char part[PARTS_][PART_MAX] = { "" };
    char bar[256] = "";
    size_t bar_columns = 0;

    out[0] = '\0';
    if (room < LABEL_LEAST)
        return 0;
    room = room < 300 ? room : 300;
    progress_make_parts(v, part);
    for (int i = 0; i < PARTS_; i++) {
        if (used + strlen(part[i]) + LABEL_LEAST > room)
            part[i][0] = '\0';
        used += strlen(part[i]);
    }
    columns =
        progress_put_label(v, room - used > 40 ? 40 : room - used, out, PROGRESS_LINE_MAX / 2);
    used += columns;
    if (v->total > 0 && room >= used + 2 + BAR_LEAST) {
        bar_columns = room - used - 2 < BAR_MOST ? room - used - 2 : BAR_MOST;
        put_bar(v, bar_columns, bar, sizeof(bar));
        used += 2 + bar_columns;
    }
    n = strlen(out);
    n += (size_t)snprintf(out + n, PROGRESS_LINE_MAX - n, "%s%s", bar[0] ? "  " : "", bar);
    for (int i = 0; i < PARTS_; i++)
        n += (size_t)snprintf(out + n, PROGRESS_LINE_MAX - n, "%s", part[shown_as[i]]);
    return used;
}
