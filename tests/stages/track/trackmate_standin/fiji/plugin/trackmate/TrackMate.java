package fiji.plugin.trackmate;

import java.util.Map;
import java.util.Set;

/** Checks the classes of its settings and links each spot to the nearest of the next known frame. */
public class TrackMate {
	private final Model model;
	private final Settings settings;
	private String errorMessage = "";

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
		return is(settings.detectorSettings, "RADIUS", Double.class)
			&& is(settings.trackerSettings, "LINKING_MAX_DISTANCE", Double.class)
			&& is(settings.trackerSettings, "MAX_FRAME_GAP", Integer.class)
			&& is(settings.trackerSettings, "ALLOW_TRACK_SPLITTING", Boolean.class)
			&& is(settings.trackerSettings, "LINKING_FEATURE_PENALTIES", Map.class);
	}

	public boolean process() {
		final double limit = (Double) settings.trackerSettings.get("LINKING_MAX_DISTANCE");
		Set<Spot> before = Set.of();
		for (final Set<Spot> now : model.getSpots().content.values()) {
			for (final Spot source : before) {
				Spot nearest = null;
				for (final Spot target : now)
					if (distance(source, target) <= (nearest == null ? limit : distance(source, nearest)))
						nearest = target;
				if (nearest != null)
					model.getTrackModel().edges.add(new TrackModel.Edge(nearest, source));
			}
			before = now;
		}
		return true;
	}

	private boolean is(final Map<String, Object> map, final String key, final Class<?> expected) {
		if (expected.isInstance(map.get(key)))
			return true;
		errorMessage = key + " is not of the class " + expected.getName();
		return false;
	}

	private static double distance(final Spot a, final Spot b) {
		return Math.hypot(a.x - b.x, a.y - b.y);
	}
}
