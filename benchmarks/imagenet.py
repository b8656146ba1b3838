"""How long table 3's protocol on ImageNet-1k would take, predicted from measured steps.

Run with ``python benchmarks/imagenet.py``; ``docs/performance.md`` keeps the result. The protocol (appendix
G): 4 sizes and 4 shares of noise, one repeat, a deep ensemble of 3 ResNeXt50, trained from scratch. As epochs
are divided by the size, each of the 24 trainings takes as many steps as one on all images:

    seconds = conditions x members x epochs x images / batch x seconds of a step

The publication does not print the epochs; 100 are those of its other trainings. Images must also be read: their
rate is that of ``load_image_folder`` on generated photographs, times the workers of a ``DataLoader``.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from caveat.datasets import load_image_folder
from caveat.experiments.protocol import PROTOCOLS
from caveat.nn import Training, losses, train

CONDITIONS, MEMBERS, IMAGES, CLASSES, SIDE = PROTOCOLS["cheap"].conditions, 3, 1_281_167, 1000, 224
LIMIT = 989e12
"""Operations in a second of an H200 in bfloat16, dense."""
SHARES = (0.06, 0.2, 0.4)
"""Shares of that limit: our CIFAR network's, and what large convolutional networks are known to reach."""


class Bottleneck(nn.Module):
    """Three convolutions, the middle one in 32 groups, and a shortcut."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 2 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=32, bias=False)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn1, self.bn2, self.bn3 = (nn.BatchNorm2d(n) for n in (width, width, outputs))
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        inside = functional.relu(self.bn1(self.conv1(x)))
        inside = functional.relu(self.bn2(self.conv2(inside)))
        short = x if self.downsample is None else self.downsample(x)
        return functional.relu(self.bn3(self.conv3(inside)) + short)


class ResNeXt50(nn.Sequential):
    """ResNeXt50 32 x 4d (Xie et al. 2017): 25.03 million parameters."""

    def __init__(self):
        layers = [
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]
        inputs = 64
        for stage, (width, count) in enumerate(
            zip((128, 256, 512, 1024), (3, 4, 6, 3), strict=True)
        ):
            for place in range(count):
                layers.append(Bottleneck(inputs, width, 2 if stage and place == 0 else 1))
                inputs = 2 * width
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES))


def predicted_seconds(step, batch, epochs):
    """Return the seconds of the whole protocol from those of one step."""
    return CONDITIONS * MEMBERS * epochs * -(-IMAGES // batch) * step


def measured_step(device, batch, steps):
    """Return the seconds of a step of one network; two lengths tell the set-up from the steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(batch, 3, SIDE, SIDE)).astype(np.float32)
    y = rng.integers(0, CLASSES, size=batch)
    options = {"precision": "bfloat16", "compile": True} if device == "cuda" else {}
    seconds = []
    for epochs in (1, 1, 1 + steps):  # the first pays for what is set up once
        training = Training(
            epochs=epochs, batch_size=batch, optimizer="sgd", device=device, **options
        )
        begun = time.perf_counter()
        train(ResNeXt50, X, y, loss=losses.nll, copies=1, training=training)
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    return (seconds[2] - seconds[1]) / steps


def measured_reading(count):
    """Return the images of 500 x 375 pixels that one process reads in a second."""
    from PIL import Image

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "class").mkdir()
        for number in range(count):
            coarse = rng.integers(0, 256, size=(24, 32, 3)).astype(np.uint8)
            photo = Image.fromarray(coarse).resize((500, 375), Image.Resampling.BICUBIC)
            photo.save(Path(folder) / "class" / f"{number}.jpeg", quality=90)
        images = load_image_folder(folder, size=SIDE)
        images[0]
        begun = time.perf_counter()
        for place in range(count):
            images[place]
        return count / (time.perf_counter() - begun)


def words(seconds):
    days = seconds / 86_400
    return f"{days:,.0f} days" if days > 10 else f"{days:.1f} days"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, help="256 on a GPU, 8 on a CPU")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--workers", type=int, default=16, help="processes that read images")
    chosen = parser.parse_args()
    batch = chosen.batch or (256 if chosen.device == "cuda" else 8)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        ResNeXt50()(torch.zeros(1, 3, SIDE, SIDE))
    # Back takes twice as many as forward; the counter does not know the groups of a gradient.
    operations = 3 * counter.get_total_flops()
    whole = CONDITIONS * MEMBERS * chosen.epochs * IMAGES
    print(
        f"{CONDITIONS} conditions x {MEMBERS} members x {chosen.epochs} epochs x {IMAGES:,} images = "
        f"{whole:.3g} images, {operations / 1e9:.1f} GFLOP each: {whole * operations:.3g} operations\n"
    )
    step = measured_step(chosen.device, batch, chosen.steps)
    print("| where | seconds a step | images a second | of the limit | the protocol |")
    print("| --- | --- | --- | --- | --- |")
    print(
        f"| {chosen.device}, {torch.get_num_threads()} threads, batch {batch}, measured | {step:.3g} | "
        f"{batch / step:,.1f} | {operations * batch / step / LIMIT:.2%} | "
        f"{words(predicted_seconds(step, batch, chosen.epochs))} |"
    )
    for share in SHARES:
        rate = share * LIMIT / operations
        print(
            f"| H200, batch 256, by operations | {256 / rate:.3g} | {rate:,.0f} | {share:.0%} | "
            f"{words(predicted_seconds(256 / rate, 256, chosen.epochs))} |"
        )
    reading = measured_reading(100)
    print(
        f"\nOne process reads {reading:,.0f} images a second; {chosen.workers} take "
        f"{words(whole / reading / chosen.workers)} for all passes."
    )


if __name__ == "__main__":
    main()
