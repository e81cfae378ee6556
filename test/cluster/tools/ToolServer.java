/* ToolServer - Hadoop's own command-line tools in one JVM, one after the other.
 *
 * Starting a JVM is nearly all that `hdfs dfs -ls` does: one second of a core, the listing itself takes
 * milliseconds. This runs the same classes by the same ToolRunner for whoever wrote a request to standard
 * input. Every call has a user of its own, so that no file system or connection outlives it.
 *
 *     request:  class, user ("" is ours), path of a ticket cache ("" without Kerberos), standard input,
 *               number of arguments, arguments
 *     answer:   exit code, standard output, standard error
 *
 * Numbers have four bytes, the first is the highest; everything else is a number and so many bytes. It
 * ends with its standard input. */

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

public final class ToolServer {
    private ToolServer() {
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        byte[] data = new byte[in.readInt()];
        in.readFully(data);
        return data;
    }

    private static String text(DataInputStream in) throws IOException {
        return new String(bytes(in), StandardCharsets.UTF_8);
    }

    private static UserGroupInformation who(String user, String tickets) throws IOException {
        if (!tickets.isEmpty()) {
            return UserGroupInformation.getUGIFromTicketCache(tickets, null);
        }
        return UserGroupInformation.createRemoteUser(
            user.isEmpty() ? UserGroupInformation.getLoginUser().getShortUserName() : user);
    }

    /* As the main() of each of these classes: an exception is printed and the exit code is 1. */
    private static int call(String name, UserGroupInformation who, String[] arguments) {
        try {
            return who.doAs((PrivilegedExceptionAction<Integer>) () -> {
                Configuration conf = new HdfsConfiguration();
                Tool tool = (Tool) Class.forName(name).getDeclaredConstructor().newInstance();
                return ToolRunner.run(conf, tool, arguments);
            });
        } catch (Throwable e) {
            e.printStackTrace();
            return 1;
        }
    }

    private static void serve(DataInputStream in, DataOutputStream answer) throws IOException {
        String name = text(in), user = text(in), tickets = text(in);
        System.setIn(new ByteArrayInputStream(bytes(in)));
        String[] arguments = new String[in.readInt()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = text(in);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(), err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true));
        System.setErr(new PrintStream(err, true));
        UserGroupInformation who = who(user, tickets);
        int code = call(name, who, arguments);
        FileSystem.closeAllForUGI(who);
        System.out.flush();
        System.err.flush();
        answer.writeInt(code);
        for (ByteArrayOutputStream said : new ByteArrayOutputStream[] {out, err}) {
            answer.writeInt(said.size());
            said.writeTo(answer);
        }
        answer.flush();
    }

    public static void main(String[] arguments) throws IOException {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream answer = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        try {
            while (true) {
                serve(in, answer);
            }
        } catch (EOFException e) {
            System.exit(0); // threads of Hadoop's clients may still be there
        }
    }
}
