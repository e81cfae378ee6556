/* summary_private.h - the plain fields of an engine and of a task in a summary: one table says how
 * they are written (engine_summary.c) and how they are read (engine_summary_read.c).
 *
 * A field that has the value of a new engine is left out. */
#pragma once
#include "job/engine/engine_private.h"

#include <stddef.h>

enum summary_kind {
    SUMMARY_BOOL,
    SUMMARY_U8,
    SUMMARY_U32,    /* any */
    SUMMARY_COUNT,  /* uint32_t that is counted on */
    SUMMARY_AGENT,  /* uint32_t; ENGINE_NO_AGENT: none */
    SUMMARY_INT,    /* int */
    SUMMARY_NUMBER, /* int64_t: times, steps */
};

struct summary_field {
    const char *key;
    enum summary_kind kind;
    size_t at;
};

#define SUMMARY_NUMBER_MAX (INT64_C(1) << 53) /* and its negative */
#define SUMMARY_COUNT_MAX (UINT32_MAX / 2)

/* clang-format off */
static const struct summary_field summary_engine[] = {
    { "generation",   SUMMARY_COUNT,  offsetof(struct engine, generation) },
    { "numbered",     SUMMARY_BOOL,   offsetof(struct engine, numbered) },
    { "reforming",    SUMMARY_BOOL,   offsetof(struct engine, reforming) },
    { "backing_off",  SUMMARY_BOOL,   offsetof(struct engine, backing_off) },
    { "ever_started", SUMMARY_BOOL,   offsetof(struct engine, ever_started) },
    { "rounds",       SUMMARY_COUNT,  offsetof(struct engine, rounds) },
    { "seed",         SUMMARY_U32,    offsetof(struct engine, seed) },
    { "refused_seed", SUMMARY_U32,    offsetof(struct engine, refused_seed) },
    { "last_agent",   SUMMARY_COUNT,  offsetof(struct engine, last_agent) },
    { "young",        SUMMARY_U8,     offsetof(struct engine, young) },
    { "formed",       SUMMARY_NUMBER, offsetof(struct engine, formed) },
    { "last_loss",    SUMMARY_NUMBER, offsetof(struct engine, last_loss) },
    { "stops",        SUMMARY_COUNT,  offsetof(struct engine, stops) },
    { "restarts",     SUMMARY_COUNT,  offsetof(struct engine, restarts) },
    { "created",      SUMMARY_NUMBER, offsetof(struct engine, created) },
    { "started",      SUMMARY_NUMBER, offsetof(struct engine, ran) },
};

static const struct summary_field summary_task[] = {
    { "generation", SUMMARY_COUNT,  offsetof(struct unit, t.generation) },
    { "attempt",    SUMMARY_COUNT,  offsetof(struct unit, t.attempt) },
    { "agent",      SUMMARY_AGENT,  offsetof(struct unit, t.agent) },
    { "pid",        SUMMARY_INT,    offsetof(struct unit, t.pid) },
    { "code",       SUMMARY_INT,    offsetof(struct unit, t.code) },
    { "ready",      SUMMARY_BOOL,   offsetof(struct unit, t.ready) },
    { "stopped",    SUMMARY_BOOL,   offsetof(struct unit, t.stopping) },
    { "results",    SUMMARY_BOOL,   offsetof(struct unit, t.results) },
    { "since",      SUMMARY_NUMBER, offsetof(struct unit, t.since) },
    { "step",       SUMMARY_NUMBER, offsetof(struct unit, t.step) },
    { "total",      SUMMARY_NUMBER, offsetof(struct unit, t.total) },
    { "starts",     SUMMARY_COUNT,  offsetof(struct unit, starts) },
    { "starting",   SUMMARY_BOOL,   offsetof(struct unit, starting) },
    { "homeless",   SUMMARY_BOOL,   offsetof(struct unit, homeless) },
    { "over",       SUMMARY_BOOL,   offsetof(struct unit, over) },
    { "kept",       SUMMARY_BOOL,   offsetof(struct unit, kept) },
    { "down",       SUMMARY_BOOL,   offsetof(struct unit, down) },
    { "again",      SUMMARY_BOOL,   offsetof(struct unit, again) },
    { "brought",    SUMMARY_BOOL,   offsetof(struct unit, brought) },
    { "young",      SUMMARY_U8,     offsetof(struct unit, young) },
    { "started",    SUMMARY_NUMBER, offsetof(struct unit, started) },
    { "stopped_at", SUMMARY_NUMBER, offsetof(struct unit, stopped) },
    { "reported",   SUMMARY_NUMBER, offsetof(struct unit, told) },
    { "first_told", SUMMARY_NUMBER, offsetof(struct unit, first_told) },
};

/* Timers that are set are written as times. */
static const struct {
    const char *key;
    enum timer kind;
} summary_timers[] = {
    { "hold_until",   TIMER_HOLD },   { "ask_at",     TIMER_ASK },
    { "limit_at",     TIMER_LIMIT },  { "reform_at",  TIMER_REFORM },
    { "kill_at",      TIMER_STOP },   { "restart_at", TIMER_RESTART },
};
/* clang-format on */

static const char *const summary_slots[SLOT_STATES_] = {
    [SLOT_IDLE] = "IDLE",
    [SLOT_ASKED] = "ASKED",
    [SLOT_GRANTED] = "GRANTED",
    [SLOT_UP] = "UP",
};
