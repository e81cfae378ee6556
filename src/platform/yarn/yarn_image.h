/* yarn_image.h - container images on YARN: which component runs them, and the settings for YARN's
 * docker runtime. */
#pragma once
#include "hadoop/conf/conf.h"
#include "hadoop/yarn/launch_context.h"
#include "job/event.h"
#include "job/spec/spec.h"

/* Are a job's images YARN's business? As the job says; where it leaves that open, when the
 * cluster's configuration offers the docker runtime. Otherwise agents run them. */
int yarn_image_by_yarn(const struct spec *s, const struct conf *c, bool *ret, struct err *err);

/* Makes the role's containers of its image; nothing when it has none. */
int yarn_image_launch(const struct spec *s, const struct spec_role *role,
                      Yarn__ContainerLaunchContext *c, struct err *err);

/* What it is when a container was never made of its image: FAIL_IMAGE when the image is not
 * available, which no other node changes; FAIL_START when docker failed for reasons of its own.
 * FAIL_NONE when it is something else. Then `text`, what is known of the end so far, stays; else it
 * becomes a sentence about the image. */
enum fail_class yarn_image_failed(const char *image, int32_t exit_status, const char *diagnostics,
                                  char *text, size_t n);
