/* libhdfs_home.h - finds Java and Hadoop on a machine, for programs that read HDFS through libhdfs.
 *
 * libhdfs starts a Java machine inside the program, and finds what that needs by variables:
 *
 *     JAVA_HOME           where Java is
 *     LD_LIBRARY_PATH     where libjvm.so and libhdfs.so are
 *     HADOOP_HOME, HADOOP_HDFS_HOME, HADOOP_CONF_DIR
 *     CLASSPATH           Hadoop's configuration and every one of its jars by name: the library
 *                         takes no "lib/…*"
 *     LIBHDFS_OPTS        what the Java machine is told
 *
 * A machine that has Hadoop says some of them, in the environment of its NodeManager say; the rest
 * is looked for where distributions put it. No Java is started for that. Blocks on the local disk;
 * any thread. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "base/str.h"

struct hadoop_home {
    char *java, *jvm_dir; /* JAVA_HOME, and the directory of its libjvm.so */
    char *home, *hdfs;    /* HADOOP_HOME and HADOOP_HDFS_HOME */
    char *conf;           /* HADOOP_CONF_DIR */
    char *lib_dir;        /* of libhdfs.so */
    char *jars;           /* joined by ':' */
};

/* The environment that it is looked for in. */
struct hadoop_env {
    const char *(*get)(void *arg, const char *name); /* NULL: not set */
    void *arg;
    const char *root; /* stands before paths that are always the same; "" but in tests */
};

/* Fills `ret`, which was zeroed and needs hadoop_home_done() in any case; what is not found stays
 * NULL. 0 or -ENOMEM. */
int hadoop_home_find(const struct hadoop_env *e, struct hadoop_home *ret);
void hadoop_home_done(struct hadoop_home *h);

#define AUTO_HADOOP_HOME AUTO_DONE(hadoop_home_done) struct hadoop_home /* = { 0 } */

/* What is missing for libhdfs, as the first sentence that helps; NULL when nothing is. Borrowed,
 * constant. */
const char *hadoop_home_missing(const struct hadoop_home *h);

/* "NAME=value" for what was found and the environment does not say; CLASSPATH and LD_LIBRARY_PATH
 * come behind what it says. 0 or -ENOMEM. */
int hadoop_home_vars(const struct hadoop_home *h, const struct hadoop_env *e, struct strs *ret);
