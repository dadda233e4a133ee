"""The paper's numerical section: objectives, noise, protocol and the published tables."""
