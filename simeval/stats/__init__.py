"""The mathematics of verdicts: functions on numbers and arrays that know no word of simeval.

    binomial       a rate from a fixed sample: exact tests, Clopper-Pearson intervals, power
    sequential     a rate, stopped as soon as it is proven: exact designs, stage-wise inference
    optimal        the same with the fewest trials on average: ends when a pass has become unlikely
    stopping_game  the costs of trials and errors, which define the optimal test
    open_ended     the same without a largest n, by e-values
    quantile       medians and quantiles: order statistics, repeated intervals
    mean, betting  the mean of a bounded score, from a fixed sample and at any time
    planning       sample sizes and power
    clusters       turns in conversations: ICC, design effect, Korn and Graubard
    run_to_run     several runs of one unchanged version: do they differ by more than chance?
    repeated       several runs of a task: pass^k, pass@k
    paired         two versions on the same seeds: McNemar, sign flips, non-inferiority
    paired_sequential  the same pairs, stopped as soon as not worse, or worse, is proven
    two_sample     two versions on different ones: Fisher, Boschloo, Newcombe, non-inferiority
    preference     which of two is better: sign test, position bias, Bradley-Terry
    multiple       many tests at once: joint levels, Holm, Benjamini-Hochberg, e-BH
    agreement      judges and people: confusion, kappa, Krippendorff's alpha
    classification precision, recall and F1 with bootstrap intervals
    logistic       a logistic model fitted to few examples, ROC-AUC, folds that keep groups whole
    people         the rate that people would find, from a judge and few labels: one exact test
    people_looks   the same after parts of the labels: the first look that proves a side ends it
    calibration    a rate corrected for its judge: PPI, Rogan-Gladen
    reliability    repeats of a judge: variance components and how many repeats pay
    slices         which rows of a table fail more often, by permutation
    evalues        evidence that holds at any time
    monitor        alarms on live traffic
    approximate    intervals for drawing, never for verdicts

Each is a module; `simeval.stats.binomial.clopper_pearson(29, 30, 0.05)`.
None loads scipy.special before it computes, nor scipy.stats when imported.
"""

from simeval.core.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
