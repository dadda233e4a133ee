"""Lightning's command line makes `Hedged` from its class path, in a file or on the line.

Run: python examples/lightning_cli.py fit --config examples/lightning_cli.yaml
or: python examples/lightning_cli.py fit --model.optimizer o2nc.torch.Hedged --model.optimizer.weight_decay 0.01
or, without the roles of parameters: python examples/lightning_cli.py fit --optimizer o2nc.torch.Hedged
"""

import lightning
from lightning.pytorch.cli import LightningCLI, OptimizerCallable
from lightning_digits import Digits, data
from torch.utils.data import DataLoader

from o2nc.torch import Hedged, groups


class Classifier(Digits):
    """``optimizer`` is a function of groups, which the command line makes of a class path and its options."""

    def __init__(self, optimizer: OptimizerCallable = Hedged, steps: int = 64):
        super().__init__(lambda net: optimizer(groups(net)), steps)


class Data(lightning.LightningDataModule):
    def __init__(self, batch: int = 64):
        super().__init__()
        self.batch, (self.seen, self.others) = batch, data()

    def train_dataloader(self):
        return DataLoader(self.seen, self.batch, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.others, len(self.others))


def main(arguments=None):
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    defaults = {"accelerator": "cpu", "max_epochs": 4, "enable_checkpointing": False, **quiet}
    cli = LightningCLI(
        Classifier,
        Data,
        seed_everything_default=0,
        save_config_callback=None,
        trainer_defaults=defaults,
        args=arguments,
    )
    opt = cli.trainer.optimizers[0]
    print(opt.report())
    print(f"accuracy {cli.trainer.callback_metrics['accuracy']:.3f}")
    return opt


if __name__ == "__main__":
    main()
