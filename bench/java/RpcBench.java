import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.GetClusterMetricsRequest;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * The same calls as rpc_bench.c by Hadoop's own client: RpcBench CALLS THREADS. All threads share one
 * proxy and so one connection. As many calls again are made before, for the JIT compiler.
 */
public final class RpcBench {
    private RpcBench() {
    }

    private static void run(ApplicationClientProtocol rm, int calls, ExecutorService threads,
                            int n) throws Exception {
        AtomicInteger left = new AtomicInteger(calls);
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            all.add(threads.submit((Callable<Void>) () -> {
                while (left.getAndDecrement() > 0) {
                    rm.getClusterMetrics(GetClusterMetricsRequest.newInstance());
                }
                return null;
            }));
        }
        for (Future<?> f : all) {
            f.get();
        }
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory
            .getOperatingSystemMXBean()).getProcessCpuTime();
    }

    public static void main(String[] args) throws Exception {
        int calls = Integer.parseInt(args[0]);
        int n = Integer.parseInt(args[1]);
        ApplicationClientProtocol rm =
            ClientRMProxy.createRMProxy(new YarnConfiguration(), ApplicationClientProtocol.class);
        ExecutorService threads = Executors.newFixedThreadPool(n);
        run(rm, calls, threads, n);
        long cpu = cpuNanos();
        long wall = System.nanoTime();
        run(rm, calls, threads, n);
        System.out.printf("{\"calls\": %d, \"ms\": %.3f, \"cpu_ms\": %.3f}%n", calls,
            (System.nanoTime() - wall) / 1e6, (cpuNanos() - cpu) / 1e6);
        System.exit(0);
    }
}
