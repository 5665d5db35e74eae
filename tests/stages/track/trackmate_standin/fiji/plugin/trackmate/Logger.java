package fiji.plugin.trackmate;

public abstract class Logger {
	public static final Logger VOID_LOGGER = new Logger() {};
}
