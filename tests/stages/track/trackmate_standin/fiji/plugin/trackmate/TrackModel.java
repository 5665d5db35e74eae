package fiji.plugin.trackmate;

import java.util.HashSet;
import java.util.Set;

public class TrackModel {
	static class Edge {
		final Spot source, target;

		Edge(final Spot source, final Spot target) {
			this.source = source;
			this.target = target;
		}
	}

	final Set<Edge> edges = new HashSet<>();

	public Set<Edge> edgeSet() {
		return edges;
	}

	public Spot getEdgeSource(final Edge edge) {
		return edge.source;
	}

	public Spot getEdgeTarget(final Edge edge) {
		return edge.target;
	}
}
