"""``o2nc play``: a page to play with, on this machine."""

import os
from typing import Annotated

import typer

from .console import command


@command("play")
def play(
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option(help="Open it in the browser.")] = True,
) -> None:
    """Open a page with two methods on a landscape, side by side; Ctrl-C ends it."""
    try:
        from ..playground import page
    except ModuleNotFoundError as error:
        if error.name not in ("panel", "bokeh"):
            raise
        raise ModuleNotFoundError(
            "`o2nc play` needs Panel, which is not installed; `pip install 'o2nc[lab]'` brings it.", name=error.name
        ) from error
    try:
        server = page.server(port)
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), f"port {port} of {page.HOST}") from error
    typer.echo(f"http://{page.HOST}:{server.port}/ until Ctrl-C")
    if browser:
        server.io_loop.add_callback(server.show, "/")
    server.run_until_shutdown()
