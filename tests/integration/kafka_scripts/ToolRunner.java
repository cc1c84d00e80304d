import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.security.Policy;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs the main classes of Kafka's scripts one after another in one JVM: each would take a second to start.
 *
 * A request is a line: the class, its stdin in base64, its arguments, separated by tabs. An answer is a line: the exit
 * status, stdout and stderr in base64.
 */
public final class ToolRunner {
    private static final class Ended extends SecurityException {
        private final int status;

        Ended(int status) {
            super("exit " + status);
            this.status = status;
        }
    }

    public static void main(String[] ignored) throws Exception {
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        trapExits();
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(answer(line.split("\t", -1)));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** Some tools call System.exit; everything else is permitted. */
    @SuppressWarnings("removal")
    private static void trapExits() {
        Policy.setPolicy(new Policy() {
            @Override
            public boolean implies(ProtectionDomain domain, Permission permission) {
                return true;
            }
        });
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkExit(int status) {
                throw new Ended(status);
            }

            @Override
            public void checkPermission(Permission permission) {
            }
        });
    }

    private static String answer(String[] parts) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setIn(new ByteArrayInputStream(Base64.getDecoder().decode(parts[1])));
        PrintStream outStream = new PrintStream(out, true, StandardCharsets.UTF_8);
        PrintStream errStream = new PrintStream(err, true, StandardCharsets.UTF_8);
        System.setOut(outStream);
        System.setErr(errStream);
        AtomicInteger status = new AtomicInteger(-1);
        Exit.Procedure end = (code, message) -> {
            status.compareAndSet(-1, code);
            throw new Ended(code);
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        try {
            Class.forName(parts[0]).getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(parts, 2, parts.length));
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof Ended) {
                status.compareAndSet(-1, ((Ended) error.getCause()).status);
            } else {
                error.getCause().printStackTrace(errStream);
                status.set(1);
            }
        }
        outStream.flush();
        errStream.flush();
        Base64.Encoder encoder = Base64.getEncoder();
        return Math.max(0, status.get()) + "\t" + encoder.encodeToString(out.toByteArray()) + "\t"
            + encoder.encodeToString(err.toByteArray());
    }
}
