package fiji.plugin.trackmate.tracking.jaqaman;

public class SparseLAPTrackerFactory {}
