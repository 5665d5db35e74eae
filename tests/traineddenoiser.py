"""A small denoiser: trained on made-up images in a few seconds, so that it does denoise."""

NETWORK = {"channels": [8, 8, 8, 8], "blocks": 1}
"""Parameters of the stage by which it is built."""
SIGMA = 0.05
STEPS = 250
BATCH = 8
IMAGES = range(100, 164)
"""Seeds of what it is trained on; no test reconstructs these."""


def write_weights(path, steps=STEPS):
    """Train a network for colour images, and write its weights.

    Parameters
    ----------
    path : Path
    steps : int
        0 leaves it as it began, for tests to which any weights will do.
    """
    from pyscale_stages.torchdevice import make_torchvision_importable

    make_torchvision_importable()
    import torch
    from deepinv.models import DRUNet

    from pyscale_stages.reconstruct.images import image_of
    from pyscale_stages.reconstruct.stage import ReconstructParams

    threads = torch.get_num_threads()
    # More would wait for each other, on a machine that has other work too.
    torch.set_num_threads(1)
    made = (image_of(ReconstructParams(size_px=32), seed) for seed in IMAGES)
    images = torch.stack([torch.from_numpy(image) for image in made])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = DRUNet(
            in_channels=3,
            out_channels=3,
            nc=NETWORK["channels"],
            nb=NETWORK["blocks"],
            pretrained=None,
        )
        optimiser = torch.optim.Adam(network.parameters(), lr=5e-3)
        for _ in range(steps):
            clean = images[torch.randint(len(images), (BATCH,))]
            denoised = network(clean + SIGMA * torch.randn_like(clean), SIGMA)
            optimiser.zero_grad()
            (denoised - clean).square().mean().backward()
            optimiser.step()
    torch.set_num_threads(threads)
    torch.save(network.state_dict(), path)
    return path
