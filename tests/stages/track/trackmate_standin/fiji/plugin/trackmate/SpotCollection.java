package fiji.plugin.trackmate;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeMap;

public class SpotCollection {
	final TreeMap<Integer, Set<Spot>> content = new TreeMap<>();

	public void put(final int frame, final Collection<Spot> spots) {
		content.put(frame, new HashSet<>(spots));
	}
}
