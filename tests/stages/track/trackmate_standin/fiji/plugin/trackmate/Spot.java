package fiji.plugin.trackmate;

public class Spot {
	private static int lastId = 41;

	final double x, y;
	private final int id = ++lastId;

	public Spot(final double x, final double y, final double z, final double radius, final double quality) {
		if (!(radius > 0 && quality >= 0))
			throw new IllegalArgumentException("a filter would drop this spot");
		this.x = x;
		this.y = y;
	}

	public int ID() {
		return id;
	}
}
