"""The five papers: what their figures, tables and sentences say, computed with right mechanisms."""

from sottovoce_experiments.papers.paper import Paper

SOK = Paper(
    "sok",
    "sok",
    "SoK: Descriptive Statistics under Local Differential Privacy",
    "Raab, Berrang, Gerhart, Schröder, PoPETs 2025.",
)
AAA = Paper(
    "aaa",
    "adaptive-mean",
    "AAA: an Adaptive Mechanism for Locally Differential Private Mean Estimation",
    "Wei, Bao, Xiao, Yang, Ding, PVLDB 2024.",
)
SURVEY = Paper(
    "survey",
    "survey",
    "A Comprehensive Survey on Local Differential Privacy",
    "Xiong, Liu, Li, Cai, Niu, Security and Communication Networks 2020.",
)
GROUP = Paper(
    "group",
    "group-means",
    "Estimating Group Means under Local Differential Privacy",
    "Raab, Bohr, Klede, Gmeiner, Eskofier, PoPETs 2025(4).",
)
WAVE = Paper(
    "sw",
    "square-wave",
    "Estimating Numerical Distributions under Local Differential Privacy",
    "Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li, SIGMOD 2020.",
)
