package fiji.plugin.trackmate;

import java.util.HashMap;
import java.util.Map;

import fiji.plugin.trackmate.detection.ManualDetectorFactory;
import fiji.plugin.trackmate.tracking.jaqaman.SparseLAPTrackerFactory;
import ij.ImagePlus;

public class Settings {
	public final ImagePlus imp;
	public int nframes, tend;
	public ManualDetectorFactory detectorFactory;
	public SparseLAPTrackerFactory trackerFactory;
	public Map<String, Object> detectorSettings = new HashMap<>();
	public Map<String, Object> trackerSettings = new HashMap<>();

	public Settings(final ImagePlus imp) {
		this.imp = imp;
	}
}
