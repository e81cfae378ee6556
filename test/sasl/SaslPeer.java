import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.HashMap;
import java.util.Map;
import javax.security.auth.Subject;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import javax.security.sasl.AuthorizeCallback;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslServer;

/**
 * The JDK's own SASL servers, set up as Hadoop's daemons set them up, for one connection after the
 * other. Arguments: the principal and keytab to serve GSSAPI with, or none.
 *
 * <p>Frames are a length of four bytes and that many bytes. The client's first frame says what it
 * wants to meet, as lines of name=value: mechanism, protocol, server, qop, password, first (who
 * speaks first in DIGEST-MD5: "server", or "client" as in DataTransfer), fault (none, tamper,
 * replay, skip). A frame of the server has a letter before its bytes: C challenge, S success, D
 * data, E error. Data comes back with "echo:" before it.
 */
public class SaslPeer {
    private static Subject subject;

    public static void main(String[] args) throws Exception {
        if (args.length == 2) {
            subject = login(args[0], args[1]);
        }
        try (ServerSocket listener = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
            System.out.println("port " + listener.getLocalPort());
            while (true) {
                Socket socket = listener.accept();
                new Thread(() -> serve(socket)).start();
            }
        }
    }

    private static Subject login(String principal, String keytab) throws Exception {
        Map<String, String> options = new HashMap<>();
        options.put("principal", principal);
        options.put("keyTab", keytab);
        options.put("useKeyTab", "true");
        options.put("storeKey", "true");
        options.put("isInitiator", "false");
        options.put("doNotPrompt", "true");
        Configuration configuration =
                new Configuration() {
                    @Override
                    public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                        return new AppConfigurationEntry[] {
                            new AppConfigurationEntry(
                                    "com.sun.security.auth.module.Krb5LoginModule",
                                    AppConfigurationEntry.LoginModuleControlFlag.REQUIRED,
                                    options)
                        };
                    }
                };
        LoginContext context = new LoginContext("peer", null, null, configuration);
        context.login();
        return context.getSubject();
    }

    private static byte[] read(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return bytes;
    }

    private static void write(DataOutputStream out, char kind, byte[] bytes) throws IOException {
        ByteArrayOutputStream frame = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(frame);
        data.writeInt(bytes.length + 1);
        data.write(kind);
        data.write(bytes);
        out.write(frame.toByteArray());
        out.flush();
    }

    private static void serve(Socket socket) {
        try (socket) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            Map<String, String> wish = new HashMap<>();
            for (String line : new String(read(in), StandardCharsets.UTF_8).split("\n")) {
                wish.put(line.split("=", 2)[0], line.split("=", 2)[1]);
            }
            try {
                SaslServer server = create(wish);
                exchange(server, wish, in, out);
                echo(server, wish.get("fault"), in, out);
            } catch (EOFException e) {
                return;
            } catch (Exception e) {
                String cause = e.getCause() == null ? "" : ": " + e.getCause().getMessage();
                write(out, 'E', (e.getMessage() + cause).getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException e) {
            System.err.println(e);
        }
    }

    private static SaslServer create(Map<String, String> wish) throws Exception {
        Map<String, String> properties = new HashMap<>();
        properties.put(Sasl.QOP, wish.get("qop"));
        properties.put(Sasl.SERVER_AUTH, "true");
        PrivilegedExceptionAction<SaslServer> make =
                () ->
                        Sasl.createSaslServer(
                                wish.get("mechanism"),
                                wish.get("protocol"),
                                wish.get("server"),
                                properties,
                                callbacks -> answer(callbacks, wish.get("password")));
        return subject == null ? make.run() : Subject.doAs(subject, make);
    }

    private static void answer(Callback[] callbacks, String password) {
        for (Callback callback : callbacks) {
            if (callback instanceof PasswordCallback) {
                ((PasswordCallback) callback).setPassword(password.toCharArray());
            } else if (callback instanceof AuthorizeCallback) {
                AuthorizeCallback ask = (AuthorizeCallback) callback;
                ask.setAuthorized(ask.getAuthenticationID().equals(ask.getAuthorizationID()));
                ask.setAuthorizedID(ask.getAuthorizationID());
            } else if (callback instanceof NameCallback) {
                NameCallback ask = (NameCallback) callback;
                ask.setName(ask.getDefaultName());
            }
        }
    }

    private static void exchange(
            SaslServer server, Map<String, String> wish, DataInputStream in, DataOutputStream out)
            throws Exception {
        if (wish.get("first").equals("server")) {
            write(out, 'C', server.evaluateResponse(new byte[0]));
        }
        while (!server.isComplete()) {
            byte[] token = server.evaluateResponse(read(in));
            write(out, server.isComplete() ? 'S' : 'C', token == null ? new byte[0] : token);
        }
    }

    private static void echo(
            SaslServer server, String fault, DataInputStream in, DataOutputStream out)
            throws Exception {
        boolean plain = server.getNegotiatedProperty(Sasl.QOP).equals("auth");
        for (int i = 0; ; i++) {
            byte[] message = read(in);
            if (!plain) {
                message = server.unwrap(message, 0, message.length);
            }
            byte[] answer = new byte[message.length + 5];
            System.arraycopy("echo:".getBytes(StandardCharsets.US_ASCII), 0, answer, 0, 5);
            System.arraycopy(message, 0, answer, 5, message.length);
            if (!plain && fault.equals("skip") && i == 1) {
                server.wrap(answer, 0, answer.length); // one that the client never sees
            }
            byte[] token = plain ? answer : server.wrap(answer, 0, answer.length);
            if (fault.equals("tamper") && i == 1) {
                token[token.length / 2] ^= 1;
            }
            write(out, 'D', token);
            if (fault.equals("replay")) {
                write(out, 'D', token);
            }
        }
    }
}
