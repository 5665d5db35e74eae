package fiji.plugin.trackmate;

public class Model {
	private final SpotCollection spots = new SpotCollection();
	private final TrackModel tracks = new TrackModel();

	public SpotCollection getSpots() {
		return spots;
	}

	public TrackModel getTrackModel() {
		return tracks;
	}

	public void setLogger(final Logger logger) {}
}
