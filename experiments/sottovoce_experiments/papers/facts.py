"""Sentences of the papers that a computation of their own decides, the errata among them."""

from __future__ import annotations

from sottovoce_experiments.claim import PaperVerdict
from sottovoce_experiments.papers import AAA, GROUP, SOK, SURVEY, WAVE
from sottovoce_experiments.papers.paper import Fact

H, F, D = PaperVerdict.HOLDS, PaperVerdict.FAILS, PaperVerdict.DEPENDS
_AT = "papers.formulas:"
EXPERIMENTS = (
    SOK.facts(
        Fact("3.3", "A protocol with p / q = e^epsilon is epsilon-LDP: direct encoding", H, _AT + "direct_encoding"),
        Fact(
            "3.3",
            "A protocol with p / q = e^epsilon is epsilon-LDP: unary encoding",
            F,
            _AT + "pure_protocols",
            "two bits differ: use p (1 - q) / (q (1 - p))",
        ),
        Fact(
            "3.3",
            "A random answer with 1 - p keeps epsilon if p = e^epsilon / (e^epsilon + 1)",
            F,
            _AT + "random_answers",
            "this p belongs to a flip; here p = (e^epsilon - 1) / (e^epsilon + 1)",
        ),
        Fact(
            "3.3",
            "Histogram encoding needs noise of scale epsilon / 2",
            D,
            _AT + "histogram_noise",
            "it loses 4 / epsilon: right above 2 only, and wasteful there; the scale is 2 / epsilon",
        ),
        Fact("3.1, Proposition 1", "The Bernoulli mechanisms are one law for one number", H, _AT + "bernoulli_names"),
        Fact(
            "Table 1, Appendix C",
            "The radius with log(1 / beta) holds on both sides",
            F,
            _AT + "one_side",
            "log(2 / beta)",
        ),
        Fact(
            "3.2",
            "The mean of squares less the squared mean estimates the variance",
            F,
            _AT + "plug_in",
            "too low by the variance of the mean: add its estimate",
        ),
        Fact(
            "4.1.2",
            "The l-infinity mechanism has the same error for every n if d > 1",
            F,
            _AT + "constant_error",
            "ties of signs; B / sqrt(n) with right weights",
        ),
        Fact(
            "4.3, released code",
            "RAPPOR with two hashes and the f of one hash keeps epsilon",
            F,
            _AT + "released_rappor",
            "it spends 2 epsilon: f / 2 = 1 / (e^(epsilon / (2 h)) + 1)",
        ),
        Fact(
            "4.1.1",
            "Hybrid has the least worst-case variance at every epsilon",
            F,
            _AT + "hybrid_is_best",
            "use `designed`",
        ),
    ),
    AAA.facts(
        Fact(
            "Claim 3",
            "A belief that is off by psi errs by at most psi / (1 + psi) in the variance",
            F,
            _AT + "claim_3",
            "the bound is psi",
        ),
        Fact(
            "Claim 3, corrected",
            "The true variance is between 1 / (1 + psi) and 1 / (1 - psi) of the promised one",
            H,
            _AT + "claim_3_corrected",
        ),
        Fact(
            "Algorithm 6",
            "Each of k reported numbers may have the whole epsilon",
            F,
            _AT + "algorithm_6",
            "epsilon / k: `AdaptiveMeansRounds`",
        ),
        Fact(
            "7.2, Figure 3",
            "At epsilon 1 the variance on narrow normal answers is half of the best competitor's",
            F,
            _AT + "half_the_variance",
            "about 9 % are saved; the published program gives no LDP",
        ),
    ),
    SURVEY.facts(
        Fact(
            "Eq. (36)",
            "The printed probabilities of Harmony sum to one",
            F,
            _AT + "numerators",
            "the numerators are x (e^epsilon - 1) + e^epsilon + 1 and its mirror",
        ),
        Fact(
            "5.1.2",
            "Piecewise reports floor(2 epsilon / 3) of the attributes",
            F,
            _AT + "how_many",
            "floor(epsilon / 2.5), or by exact variance as `sampled` does",
        ),
        Fact(
            "Eq. (33)",
            "The printed density of SCDF noise has mass one",
            F,
            _AT + "steps_of_noise",
            "its steps begin one factor too high",
        ),
        Fact(
            "Eq. (34)",
            "A vector with t.v >= 0 is sent with e^epsilon / (e^epsilon + 1), unbiased for even d",
            F,
            _AT + "ties",
            "ties need the weight 1: `duchi-linf`",
        ),
        Fact(
            "5.1.2",
            "Piecewise has a larger worst variance than MeanEst below epsilon 1.29 only",
            H,
            _AT + "piecewise_and_bits",
        ),
        Fact("Table 5", "MeanEst spends epsilon / d", F, _AT + "mean_est_budget", "it spends epsilon, once"),
        Fact("5.1.2", "SCDF and staircase noise are better than Laplace noise", H, _AT + "better_noise"),
        Fact(
            "Table 4",
            "The error of a share through OUE grows as k",
            F,
            _AT + "one_value_grows",
            "it does not depend on k; the table mixes one share with the sum of all",
        ),
        Fact(
            "Table 4",
            "The error of a share through randomized response grows with k",
            D,
            _AT + "response_grows",
            "only while k is large beside e^epsilon",
        ),
        Fact(
            "Table 4",
            "Randomized response has low utility where privacy is low",
            F,
            _AT + "low_privacy",
            "there it is among the best",
        ),
        Fact(
            "4.3",
            "A random pool of hash functions leaves the estimate unbiased",
            D,
            _AT + "random_pool",
            "only a balanced pool: `flh`",
        ),
    ),
    GROUP.facts(
        Fact(
            "Theorem 3",
            "Group NPRR with the paper's allocation keeps epsilon, k = 2",
            F,
            _AT + "nprr_2",
            "the neutral report is not uniform: send a uniform one",
        ),
        Fact(
            "Theorem 3",
            "Group NPRR with the paper's allocation keeps epsilon, k = 8",
            F,
            _AT + "nprr_8",
            "as above: `group-nprr`",
        ),
        Fact("Theorem 3, corrected", "With a uniform neutral report it does", H, _AT + "nprr_uniform"),
        Fact(
            "2.3, of Juarez and Korolova",
            "One bit and randomized response with the whole epsilon each keep epsilon",
            F,
            _AT + "bernoulli_claim",
            "as the paper says; Theorem 2 has the right budgets",
        ),
        Fact(
            "Proposition 2",
            "Group Laplace with half the scale for neutral values has no epsilon",
            H,
            _AT + "laplace_unbounded",
        ),
        Fact(
            "Proposition 6", "Group Piecewise keeps epsilon1 + epsilon2", H, _AT + "piecewise_sum", "but wastes budget"
        ),
        Fact(
            "Proposition 6",
            "The two budgets of group Piecewise have to add up to epsilon",
            F,
            _AT + "piecewise_tight",
            "a uniform neutral report needs max(epsilon2, epsilon1 + epsilon2 / 2): `group-piecewise`",
        ),
    ),
    WAVE.facts(
        Fact(
            "5.5",
            "Averaging with weights 1/4, 1/2, 1/4 keeps the sum of shares",
            F,
            _AT + "borders",
            "mass is lost at the ends: 2/3 and 1/3 there, then scale",
        ),
        Fact("5.5, corrected", "With weights 2/3 and 1/3 at the ends the sum is kept", H, _AT + "borders_mended"),
        Fact(
            "Lemma 5.5",
            "The bound that begins with 1 holds for the square wave",
            F,
            _AT + "lemma_5_5",
            "its first term is q",
        ),
        Fact("Theorem 5.1", "The square wave keeps epsilon", H, _AT + "least_density"),
        Fact("5.3", "The best half-width falls from 1/2 to 0 as epsilon grows", H, _AT + "widths_fall"),
    ),
)
