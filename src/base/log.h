/* log.h - what a program says about itself, one line per event, on standard error.
 *
 * A line has a level, a component and, once known, a job id. Libraries below the programs' edge
 * never print results or errors: they return them. What they may do is trace, which is off unless
 * YDL_TRACE names their component ("rpc,hdfs", "all", "all,-loop"). Any thread. */
#pragma once
#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_TRACE };

enum log_part {
    LOG_MAIN,
    LOG_LOOP,
    LOG_CONF,
    LOG_RPC,
    LOG_SASL,
    LOG_TOKEN,
    LOG_YARN,
    LOG_HDFS,
    LOG_WIRE,
    LOG_JOB,
    LOG_MASTER,
    LOG_AGENT,
    LOG_PLATFORM,
    LOG_RENDEZVOUS,
    LOG_PARTS_
};

/* Reads YDL_TRACE, and YDL_LOG (error, warn, info) for the level. An unknown name is reported
 * once as a warning and ignored. Call once, early; without it only errors and warnings show. */
void log_init(const char *program);
void log_set_level(enum log_level level);
void log_set_job(const char *job_id); /* copied; NULL for none */

bool log_on(enum log_part part, enum log_level level);
void log_write(enum log_part part, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(part, ...) log_write(part, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(part, ...) log_write(part, LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(part, ...) log_write(part, LOG_LEVEL_INFO, __VA_ARGS__)
/* The arguments are not evaluated while the component is not traced. */
#define trace(part, ...)                                                                           \
    do {                                                                                           \
        if (log_on(part, LOG_LEVEL_TRACE))                                                         \
            log_write(part, LOG_LEVEL_TRACE, __VA_ARGS__);                                         \
    } while (0)
