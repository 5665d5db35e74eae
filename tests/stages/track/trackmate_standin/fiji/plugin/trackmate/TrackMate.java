package fiji.plugin.trackmate;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Checks its settings as strictly as the real one, and links as greedily as is simple: each frame to
 * the next, then segments of two spots and more across gaps, then to mothers.
 */
public class TrackMate {
	public static final String PLUGIN_NAME_VERSION = "7.14.0";

	private static final Map<String, Class<?>> KEYS = Map.ofEntries(
		Map.entry("LINKING_MAX_DISTANCE", Double.class),
		Map.entry("LINKING_FEATURE_PENALTIES", Map.class),
		Map.entry("ALLOW_GAP_CLOSING", Boolean.class),
		Map.entry("GAP_CLOSING_MAX_DISTANCE", Double.class),
		Map.entry("MAX_FRAME_GAP", Integer.class),
		Map.entry("GAP_CLOSING_FEATURE_PENALTIES", Map.class),
		Map.entry("ALLOW_TRACK_SPLITTING", Boolean.class),
		Map.entry("SPLITTING_MAX_DISTANCE", Double.class),
		Map.entry("SPLITTING_FEATURE_PENALTIES", Map.class),
		Map.entry("ALLOW_TRACK_MERGING", Boolean.class),
		Map.entry("MERGING_MAX_DISTANCE", Double.class),
		Map.entry("MERGING_FEATURE_PENALTIES", Map.class),
		Map.entry("ALTERNATIVE_LINKING_COST_FACTOR", Double.class),
		Map.entry("CUTOFF_PERCENTILE", Double.class),
		Map.entry("BLOCKING_VALUE", Double.class));
	/** A distance in pixels for which no memory suffices. */
	private static final double FAR = 1e6;

	private final Model model;
	private final Settings settings;
	private String errorMessage = "";

	/** The latest spot before each spot, and all that have one after them. */
	private final Map<Spot, Spot> before = new HashMap<>();
	private final Set<Spot> continued = new HashSet<>();
	private final Map<Spot, Integer> frames = new HashMap<>();

	public TrackMate(final Model model, final Settings settings) {
		this.model = model;
		this.settings = settings;
	}

	public void setNumThreads(final int numThreads) {}

	public String getErrorMessage() {
		return errorMessage;
	}

	public boolean checkInput() {
		if (settings.imp == null || settings.detectorFactory == null || settings.trackerFactory == null) {
			errorMessage = "The image, the detector or the tracker is null.";
			return false;
		}
		final Map<String, Object> given = settings.trackerSettings;
		for (final Map.Entry<String, Class<?>> key : KEYS.entrySet())
			if (!is(given, key.getKey(), key.getValue()))
				return false;
		for (final String key : given.keySet())
			if (!KEYS.containsKey(key)) {
				errorMessage = "Map contains unexpected key: " + key;
				return false;
			}
		return is(settings.detectorSettings, "RADIUS", Double.class);
	}

	public boolean process() {
		try {
			link();
			return true;
		} catch (final OutOfMemoryError error) {
			errorMessage = "Problem in the tracking: " + error;
			return false;
		}
	}

	private void link() {
		final double limit = number("LINKING_MAX_DISTANCE");
		if (limit > FAR)
			System.err.print(new double[1 << 28].length);
		model.getSpots().content.forEach((frame, spots) -> spots.forEach(spot -> frames.put(spot, frame)));
		join(frames.keySet(), frames.keySet(), 1, limit);
		// What was seen in one frame alone is in no segment.
		final Set<Spot> inSegments = new HashSet<>(before.keySet());
		inSegments.addAll(before.values());
		final List<Spot> starts = new ArrayList<>(inSegments), ends = new ArrayList<>(inSegments);
		starts.removeAll(before.keySet());
		ends.removeAll(continued);
		final Set<Spot> middles = new HashSet<>(continued);
		if ((Boolean) settings.trackerSettings.get("ALLOW_GAP_CLOSING"))
			join(ends, starts, (Integer) settings.trackerSettings.get("MAX_FRAME_GAP"), number("GAP_CLOSING_MAX_DISTANCE"));
		if ((Boolean) settings.trackerSettings.get("ALLOW_TRACK_SPLITTING")) {
			starts.removeAll(before.keySet());
			continued.removeAll(middles);
			join(middles, starts, 1, number("SPLITTING_MAX_DISTANCE"));
		}
		before.forEach((target, source) -> model.getTrackModel().edges.add(new TrackModel.Edge(target, source)));
	}

	/** Links sources to later targets, the nearest first, each once. */
	private void join(final Iterable<Spot> sources, final Iterable<Spot> targets, final int gap, final double limit) {
		final List<Spot[]> pairs = new ArrayList<>();
		for (final Spot source : sources)
			for (final Spot target : targets) {
				final int later = frames.get(target) - frames.get(source);
				if (later >= 1 && later <= gap && distance(source, target) <= limit)
					pairs.add(new Spot[] { source, target });
			}
		pairs.sort(Comparator.comparingDouble(pair -> distance(pair[0], pair[1])));
		for (final Spot[] pair : pairs)
			if (!continued.contains(pair[0]) && !before.containsKey(pair[1])) {
				continued.add(pair[0]);
				before.put(pair[1], pair[0]);
			}
	}

	private double number(final String key) {
		return (Double) settings.trackerSettings.get(key);
	}

	private boolean is(final Map<String, Object> map, final String key, final Class<?> expected) {
		if (expected.isInstance(map.get(key)))
			return true;
		errorMessage = "Parameter " + key + " is not a " + expected.getName() + ".";
		return false;
	}

	private static double distance(final Spot a, final Spot b) {
		return Math.hypot(a.x - b.x, a.y - b.y);
	}
}
