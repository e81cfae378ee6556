import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Asks a deployment for predictions, with nothing but the JDK (11 or newer).
 *
 * <pre>java Client.java WHERE MODEL INPUT ROWS.csv</pre>
 *
 * WHERE is an address (http://HOST:PORT), or the name of a deployment, whose address `ydl serve address` knows.
 * INPUT is the name of the model's input, of type FP32. SERVE_KEY_FILE names the file with the deployment's key,
 * if it has one. Prints the answer for each row.
 *
 * Rows travel as the binary tensors of the Open Inference Protocol: they need no JSON library, and are several
 * times as fast. The body is a head of JSON, whose length a header gives, and then the floats, little-endian.
 */
public class Client {
    private static final Duration PATIENCE = Duration.ofSeconds(60); // to try before giving up
    private static final int BATCH = 4096; // rows of a request
    private static final Set<Integer> AGAIN = Set.of(408, 429, 502, 503); // answers after which it asks again
    private static final String HEAD = "Inference-Header-Content-Length";

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(5)).build();
    private final String where;
    private final String model;
    private final String key;
    private String url; // null: not known, or not any more

    Client(String where, String model, String key) {
        this.where = where;
        this.model = model;
        this.key = key;
    }

    /** Where the deployment is now. */
    private String address() throws IOException {
        if (where.contains("://"))
            return where;
        Process ydl = new ProcessBuilder("ydl", "serve", "address", where)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String told = new String(ydl.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        if (told.isEmpty())
            throw new IOException("the deployment '" + where + "' has no address");
        String[] gateways = told.split("\n");
        return gateways[ThreadLocalRandom.current().nextInt(gateways.length)];
    }

    private HttpResponse<byte[]> ask(byte[] body, int head) throws IOException, InterruptedException {
        if (url == null)
            url = address();
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + "/v2/models/" + model + "/infer"))
                .timeout(PATIENCE).header(HEAD, Integer.toString(head)).POST(BodyPublishers.ofByteArray(body));
        if (key != null)
            request.header("Authorization", "Bearer " + key);
        return http.send(request.build(), BodyHandlers.ofByteArray());
    }

    /** The same, as often as it takes: to predict twice does no harm. */
    private HttpResponse<byte[]> askUntil(byte[] body, int head) throws IOException, InterruptedException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        for (long pause = 100;; pause = Math.min(2 * pause, 5000)) {
            long wait = pause;
            IOException error;
            try {
                HttpResponse<byte[]> answer = ask(body, head);
                if (answer.statusCode() == 200)
                    return answer;
                error = new IOException(answer.statusCode() + ": "
                        + new String(answer.body(), StandardCharsets.UTF_8));
                if (!AGAIN.contains(answer.statusCode()))
                    throw new IllegalArgumentException(error.getMessage());
                wait = Math.max(wait, 1000 * answer.headers().firstValueAsLong("Retry-After").orElse(0));
            } catch (IOException lost) {
                error = lost;
                url = null; // look where it is now
            }
            if (System.nanoTime() + wait * 1_000_000 > end)
                throw error;
            Thread.sleep(wait);
        }
    }

    /** A prediction for each row. */
    float[][] predict(String input, List<float[]> rows) throws IOException, InterruptedException {
        int width = rows.get(0).length;
        int size = 4 * rows.size() * width;
        byte[] head = String.format(Locale.ROOT, "{\"inputs\": [{\"name\": \"%s\", \"datatype\": \"FP32\", \"shape\": [%d, %d],"
                + " \"parameters\": {\"binary_data_size\": %d}}], \"parameters\": {\"binary_data_output\": true}}",
                input, rows.size(), width, size).getBytes(StandardCharsets.UTF_8);
        ByteBuffer body = ByteBuffer.allocate(head.length + size).order(ByteOrder.LITTLE_ENDIAN).put(head);
        for (float[] row : rows)
            for (float value : row)
                body.putFloat(value);

        HttpResponse<byte[]> answer = askUntil(body.array(), head.length);
        int begin = (int) answer.headers().firstValueAsLong(HEAD).orElseThrow();
        ByteBuffer floats = ByteBuffer.wrap(answer.body()).order(ByteOrder.LITTLE_ENDIAN);
        floats.position(begin);
        float[][] predictions = new float[rows.size()][floats.remaining() / 4 / rows.size()];
        for (float[] prediction : predictions)
            for (int i = 0; i < prediction.length; i++)
                prediction[i] = floats.getFloat();
        return predictions;
    }

    private static float[] row(String line) {
        String[] cells = line.split(",");
        float[] values = new float[cells.length];
        for (int i = 0; i < cells.length; i++)
            values[i] = Float.parseFloat(cells[i]);
        return values;
    }

    public static void main(String[] args) throws Exception {
        String keys = System.getenv("SERVE_KEY_FILE");
        String key = keys == null ? null
                : Files.lines(Path.of(keys)).filter(line -> !line.startsWith("#")).findFirst().orElseThrow();
        Client client = new Client(args[0], args[1], key);
        List<String> lines = Files.readAllLines(Path.of(args[3]));
        for (int at = 0; at < lines.size(); at += BATCH) {
            List<float[]> rows = new ArrayList<>();
            for (String line : lines.subList(at, Math.min(at + BATCH, lines.size())))
                rows.add(row(line));
            for (float[] prediction : client.predict(args[2], rows))
                System.out.println(Arrays.toString(prediction));
        }
    }
}
