package fiji.plugin.trackmate.detection;

public class ManualDetectorFactory {}
