/* ManyNodes - many real NodeManagers in one JVM, against a real ResourceManager.
 *
 * A NodeManager in a JVM of its own costs 200 MB, most of it classes; fifty in one cost 600 MB. They are
 * the very objects that a node runs: addresses, directories, tokens, localisation and heartbeats of
 * their own. Only the shell that stands above each container is left out, for the sake of processes.
 *
 *     ManyNodes COUNT FIRST_PORT DIRECTORY [-D KEY=VALUE]…
 *
 * Node I is 127.1.0.I. A file DIRECTORY/lose/I makes the machine of that node disappear: its
 * containers are killed, and nothing is said to the ResourceManager. The file is removed when that is
 * done. Standard output gets one line when all are started. */

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.util.Shell;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

public final class ManyNodes {
    private static final int LOOK_MS = 100;

    /* Hadoop's own, without the shell that waits above each container and writes its exit code down:
     * that is for NodeManagers that find containers again, which these never do. */
    public static final class Executor extends DefaultContainerExecutor {
        @Override
        protected Shell.CommandExecutor buildCommandExecutor(
                String wrapper, String container, String user, Path pidFile, Resource resource,
                File workDir, Map<String, String> environment, String[] numa) {
            String script = "echo $$ > '" + pidFile + ".tmp' && mv '" + pidFile + ".tmp' '" + pidFile
                    + "' && exec /bin/bash '" + workDir + "/launch_container.sh'";
            return new Shell.ShellCommandExecutor(
                    new String[] {"setsid", "/bin/bash", "-c", script}, workDir, environment, 0L,
                    false);
        }
    }

    private static Configuration configure(int i, int port, File directory, String[] args) {
        Configuration conf = new YarnConfiguration();
        String host = "127.1.0." + i;
        File own = new File(directory, Integer.toString(i));

        for (int k = 3; k + 1 < args.length; k += 2) {
            String[] pair = args[k + 1].split("=", 2);
            conf.set(pair[0], pair[1]);
        }
        conf.set("yarn.nodemanager.container-executor.class", Executor.class.getName());
        /* Each would look through all processes of the machine, fifty times every three seconds. */
        conf.setBoolean("yarn.nodemanager.container-monitor.enabled", false);
        conf.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
        conf.setInt("yarn.nodemanager.resource-monitor.interval-ms", 3600 * 1000);
        conf.set("yarn.nodemanager.hostname", host);
        conf.set("yarn.nodemanager.bind-host", host);
        conf.set("yarn.nodemanager.address", host + ":" + port);
        conf.set("yarn.nodemanager.localizer.address", host + ":" + (port + 1));
        conf.set("yarn.nodemanager.webapp.address", host + ":" + (port + 2));
        conf.set("yarn.nodemanager.collector-service.address", host + ":" + (port + 4));
        conf.set("yarn.nodemanager.local-dirs", own + "/local");
        conf.set("yarn.nodemanager.log-dirs", own + "/logs");
        conf.set("yarn.nodemanager.recovery.dir", own + "/recovery");
        conf.set("hadoop.tmp.dir", own + "/tmp");
        return conf;
    }

    /* Does the environment of a process name one of these containers? Tasks have sessions and process
     * groups of their own, so that nothing else tells whose they are. */
    private static boolean belongs(java.nio.file.Path process, Set<String> containers) {
        try {
            String text = Files.readString(process.resolve("environ"), StandardCharsets.ISO_8859_1);
            for (String row : text.split("\0"))
                if (row.startsWith("CONTAINER_ID=") || row.startsWith("YDL_CONTAINER="))
                    return containers.contains(row.substring(row.indexOf('=') + 1));
        } catch (IOException e) {
            return false; // it has ended
        }
        return false;
    }

    /* A machine that is switched off takes its processes with it. */
    private static void lose(NodeManager node) throws IOException, InterruptedException {
        Set<String> containers = new HashSet<>();
        List<String> kill = new ArrayList<>(List.of("kill", "-KILL"));

        for (ContainerId id : node.getNMContext().getContainers().keySet())
            containers.add(id.toString());
        try (DirectoryStream<java.nio.file.Path> all =
                     Files.newDirectoryStream(Paths.get("/proc"), "[0-9]*")) {
            for (java.nio.file.Path process : all)
                if (belongs(process, containers))
                    kill.add(process.getFileName().toString());
        }
        if (kill.size() > 2)
            new ProcessBuilder(kill).start().waitFor();
        node.stop();
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        int port = Integer.parseInt(args[1]);
        File directory = new File(args[2]), losses = new File(directory, "lose");
        List<NodeManager> nodes = new ArrayList<>();

        DefaultMetricsSystem.setMiniClusterMode(true);
        if (!losses.mkdirs() && !losses.isDirectory())
            throw new IOException("cannot make " + losses);
        for (int i = 1; i <= count; i++) {
            NodeManager node = new NodeManager();
            node.init(configure(i, port, directory, args));
            node.start();
            nodes.add(node);
        }
        System.out.println("ManyNodes: " + count + " NodeManagers are started");
        while (true) {
            File[] found = losses.listFiles();

            for (File file : found == null ? new File[0] : found) {
                lose(nodes.get(Integer.parseInt(file.getName()) - 1));
                if (!file.delete())
                    throw new IOException("cannot remove " + file);
            }
            Thread.sleep(LOOK_MS);
        }
    }
}
