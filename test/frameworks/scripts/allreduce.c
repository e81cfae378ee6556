/* allreduce.c - an MPI program as any textbook has it: pi from the sums of all ranks, and a ring.
 * With an argument rank 1 does not like the result. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, left = -1;
    double part = 0, pi = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = rank; i < 1000000; i += size) {
        double x = (i + 0.5) / 1000000;

        part += 4.0 / (1.0 + x * x) / 1000000;
    }
    MPI_Allreduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &left, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d, left %d, pi %.6f\n", rank, size, left, pi);
    fflush(stdout);
    if (argc > 1 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
