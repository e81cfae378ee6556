/* loop_private.h - what loop.c and fiber.c share: the loop's insides and its scheduler. */
#pragma once
#include "loop/fiber.h"
#include <setjmp.h>
#include <uv.h>

struct loop {
    uv_loop_t uv;
    uv_check_t after_poll; /* runs the ready fibers, right after I/O callbacks */
    uv_idle_t busy;        /* active while fibers are ready, so that polling does not block */
    struct fiber *current;
    struct fiber *ready_first, *ready_last;
    struct fiber *yield_first, *yield_last; /* ready, but not before the next turn */
    struct fiber *all;                      /* every living fiber */
    struct stack *spare;                    /* stacks kept for the next fibers */
    size_t spares;
    size_t living;
    sigjmp_buf home; /* the scheduler, while a fiber runs */
    void *asan_stack;
    size_t asan_size;
    void *tsan_home;
    int signal;
};

struct fiber *fiber_next(struct fiber *f); /* the next of loop->all */

/* fiber.c: runs what is ready; frees the stacks kept. */
void fiber_run_ready(struct loop *l);
void fiber_drop_spares(struct loop *l);
