"""IMCL: interactive multi-label learning from similar images and related labels (Huynh 2020)."""

from trilabel.methods.imcl.method import Imcl, ImclSettings
from trilabel.methods.imcl.omp import Neighbors, joint_omp
from trilabel.methods.imcl.similarity import similar_images

__all__ = ["Imcl", "ImclSettings", "Neighbors", "joint_omp", "similar_images"]
