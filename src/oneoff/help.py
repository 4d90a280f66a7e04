"""What a choice means, in one sentence: the same at the command line (`--help`) and in the page.

The names are those of a job file, or of what only runs have.
"""

from __future__ import annotations

__all__ = ["HELP", "OPTIONS"]

HELP: dict[str, str] = {
    "guarantee": (
        "The promise, e.g. l-diversity:5, beta-likeness:3, t-closeness:0.2, k-anonymity:10, "
        "delta-probability:0.2; join with +."
    ),
    "quasi": "Columns an outsider may know, e.g. age,sex,zip.",
    "sensitive": "The column that must stay private; several as diag,stay.",
    "identifiers": "Columns to drop: names, numbers, addresses.",
    "person": ("The column that says whose a row is, where people have several: promises then count persons."),
    "household": "The column that says which household a row is of: k then counts households.",
    "rows_are_people": "Every row is a person, although an identifier repeats.",
    "per_person": "Publish one row of each person: one (by chance), first:COLUMN or last:COLUMN.",
    "most_rows": "Publish at most so many rows of a person, drawn by chance; 5 for promises about values.",
    "weight": (
        "The column that says how many people of a population a row stands for: published as means, for counts."
    ),
    "keep": "Columns to publish unchanged beside the sensitive one.",
    "numeric": "Columns to read as numbers, whatever they look like.",
    "categorical": "Columns to read as categories (codes, for example).",
    "hierarchies": (
        "zip=zip.csv: generalize a column along its hierarchy (ARX files), or along one that is made of its "
        "values: zip=prefix, birth=date, age=interval:5,10,20; with mutual-cover, which does not generalize, "
        "it says how far apart values are."
    ),
    "ordered": ("GenHealth=Poor,Fair,Good: categories with an order, from the least on, shown as ranges. Repeatable."),
    "dates": "birth=month: read and publish dates by day, month, quarter or year. Repeatable.",
    "prefix": "Columns of codes, such as zip codes, to generalize by their first characters.",
    "rows": "Use only the first so many rows.",
    "encoding": "Encoding of text files, e.g. latin-1.",
    "delimiter": "Delimiter of text files; found in the header by default.",
    "decimal": "Decimal mark of numbers in text files: . (default) or ,",
    "na": "Texts that mean a missing value, e.g. NA,? (default: empty).",
    "missing": "Missing values: error (default), drop, or category.",
    "bins": "Put the sensitive numbers into so many ranges first.",
    "level": "Put the labels so many levels up in its hierarchy in place of the sensitive values.",
    "other_below": "Put one value in place of all sensitive ones that fewer rows have.",
    "method": (
        "auto (default), transversal, tallies, mondrian, burel, sabre, hilbert, heterogeneous, ring, "
        "freeform, perturbation, mutual-cover, packing; exact-size, multi-size, two-size, anatomy (buckets); "
        "lmondrian, dmondrian, tmondrian, privbayes, baseline (to compare with)."
    ),
    "options": (
        "An option of the method, e.g. cuts=strict for mondrian or joint=true for mutual-cover; `oneoff "
        "methods NAME` lists them. Repeatable."
    ),
    "effort": "fast, balanced (default) or best.",
    "seed": ("For a repeatable run. Others on the machine can see it; a file of its own (below) is safer."),
    "seed_file": (
        "For a repeatable run: a file with a number, such as private/seed, or with other secret bytes. Keep "
        "it as secret as the table."
    ),
    "hold_out": (
        "Leave out this share of the people, by chance, e.g. 0.1: what anybody finds out about them is what "
        "attacks on the others are compared with."
    ),
    "max_suppressed": (
        "Outliers may be left out, at most this share of the people, e.g. 0.01, where the others then lose "
        "less: chosen by quasi-identifiers alone."
    ),
    "engine": (
        "memory, local (worker processes over the files) or spark; auto (default) takes memory up to 5 million rows."
    ),
    "workers": "Worker processes of --engine local; as many as cores by default.",
    "memory_per_worker": "What a worker may take, e.g. 1g (default) or 512m: blocks are as large as it allows.",
    "scratch": "Folder for what is needed between passes; as private as the table, gone at the end.",
    "master": "Where Spark runs: local[4], spark://HOST:7077, yarn, k8s://...; Spark decides by default.",
    "conf": "spark.executor.memory=4g: a setting of Spark. Repeatable.",
    "output": "Folder for the release; it must not exist.",
    "csv": "Write data.csv beside data.parquet.",
    "raw_csv": "The same, without the apostrophe before texts that a spreadsheet would run as formulas.",
    "overwrite": "Replace an earlier release.",
    "sign": ("File with an Ed25519 private key (ssh-keygen -t ed25519, or openssl), to vouch for public/ with."),
    "key": "File with the public key of whoever should vouch for the release, e.g. steward.pub.",
}

OPTIONS: dict[str, str] = {  # of methods, where the docstring of their function says nothing
    "numeric_as": "Publish numbers as ranges, or as sets of the values that occur.",
    "columns": "Whether groups also show how often each value of a column occurs (tally), or boxes alone.",
    "cuts": (
        "strict: people with equal quasi-identifiers stay together. relaxed: where no strict cut is left they may also "
        "be divided. uniform, for promises about identity alone: groups are as alike as can be, for who counts in "
        "them. median: to repeat what papers measured."
    ),
    "mondrian.effort": (
        "Up to which size of a group all its cuts are tried: none, 64 or 2048 people. uniform and median cuts have no "
        "use for it."
    ),
    "effort": "More effort, usually less loss, more time.",
    "burel.variant": (
        "paper: as published. slack: buckets that leave room under their ceilings, several plans tried. hybrid: "
        "mondrian first, then buckets inside each of its groups. best: whichever of slack and hybrid loses least."
    ),
    "burel.effort": "How many amounts of slack, draws of chance, cuts and rounds are tried.",
    "sabre.variant": (
        "paper: the two phases as published. across: all values at once are cut across an attribute. best: whichever "
        "loses least of across from the whole table on, and across inside the groups that mondrian makes."
    ),
    "freeform.matcher": (
        "hungarian: solve each assignment exactly; sort-greedy: take the cheapest pairs first; greedy: record by "
        "record the cheapest person left."
    ),
    "freeform.block": (
        "Assignments run inside blocks of about this size. By default everybody up to 2,000 people, then 512, from "
        "200,000 people on 256."
    ),
    "ring.shape": "homogeneous publishes the parts themselves as groups.",
    "ring.partition": (
        "Where parts come from: Mondrian's cuts, or the paper's sorting by attributes with few values first."
    ),
    "ring.swaps": (
        "How often people may change places with near ones in other parts. 0 leaves the parts as they were cut."
    ),
}
