/* pmi_client.c - an MPI program's side of PMI-1: says hello, publishes its card, meets the others
 * and reads theirs. Prints what it learned; exits with 1 and a sentence when anything is not as the
 * wire's description says. For tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *in;
static int fd;

/* Sends a line and reads the answer, which must begin with `wanted`. */
static const char *ask(const char *line, const char *wanted)
{
    static char answer[4096];

    if (write(fd, line, strlen(line)) != (ssize_t)strlen(line) ||
        !fgets(answer, sizeof(answer), in)) {
        fprintf(stderr, "no answer to %s", line);
        exit(1);
    }
    if (strncmp(answer, wanted, strlen(wanted)) != 0) {
        fprintf(stderr, "to %s  came %s  not %s\n", line, answer, wanted);
        exit(1);
    }
    return answer;
}

int main(int argc, char **argv)
{
    int rank = (int)strtol(getenv("PMI_RANK"), NULL, 10);
    int size = (int)strtol(getenv("PMI_SIZE"), NULL, 10);
    char line[512], wanted[512];

    fd = (int)strtol(getenv("PMI_FD"), NULL, 10);
    in = fdopen(fd, "r");
    if (!in)
        return 1;
    ask("cmd=init pmi_version=1 pmi_subversion=1\n",
        "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
    ask("cmd=get_maxes\n", "cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024\n");
    snprintf(wanted, sizeof(wanted), "cmd=universe_size rc=0 size=%d\n", size);
    ask("cmd=get_universe_size\n", wanted);
    ask("cmd=get_appnum\n", "cmd=appnum rc=0 appnum=0\n");
    ask("cmd=get_my_kvsname\n", "cmd=my_kvsname rc=0 kvsname=ydl\n");
    ask("cmd=get kvsname=ydl key=no-such\n", "cmd=get_result rc=-1");
    ask("cmd=spawn nprocs=1\n", "cmd=spawn_result rc=-1");
    snprintf(line, sizeof(line), "cmd=put kvsname=ydl key=P%d value=card of %d\n", rank, rank);
    ask(line, "cmd=put_result rc=0");
    ask("cmd=barrier_in\n", "cmd=barrier_out rc=0\n");
    for (int i = 0; i < size; i++) {
        snprintf(line, sizeof(line), "cmd=get kvsname=ydl key=P%d\n", i);
        snprintf(wanted, sizeof(wanted), "cmd=get_result rc=0 msg=success value=card of %d\n", i);
        ask(line, wanted);
    }
    if (argc > 1 && strcmp(argv[1], "abort") == 0) {
        (void)!write(fd, "cmd=abort exitcode=9\n", 21);
        (void)!read(fd, line, sizeof(line)); /* it is to be killed; nobody else would end it */
        pause();
    }
    ask("cmd=finalize\n", "cmd=finalize_ack rc=0\n");
    printf("rank %d of %d knows all\n", rank, size);
    return 0;
}
