"""Lines that a shell might pass on, and a piece of the sentence that each must be answered with."""

from __future__ import annotations

GRR = "--method grr --epsilon 1 --low 0 --high 9"
V = f"--column v {GRR}"
BAD = {
    "demo: budget": ("demo --epsilon -1", "'epsilon' parameter"),
    "methods: option": ("methods --nope", "The arguments of sottovoce methods have an unknown option"),
    "bench: option": ("bench --nope", "The arguments of sottovoce bench have an unknown option"),
    "bench: option of durations": ("bench --reports 100", "belong to --duration"),
    "bench: few reports": ("bench --duration --no-tick --method grr --reports 10", "'reports' parameter"),
    "bench: unknown method": ("bench --duration --method grrr", "There is no mechanism"),
    "bench: no pure guarantee": ("bench --duration --method priv-unit", "with a pure guarantee"),
    "bench: no processes": ("bench --duration --method grr --jobs 0", "at least one process"),
    "explain: budget": ("explain 0", "'epsilon' parameter"),
    "explain: nothing": ("explain", "The arguments of explain are EPSILON [--prior PRIOR]"),
    "explain: no number": ("explain 1 --choices x", "Invalid arguments"),
    "answer: no file": ("answer nowhere.json --value 1", "The specification cannot be read: No such file"),
    "no verb": ("whisper", "The first argument is not one of the commands"),
    "reproduce: unknown": ("reproduce group-table-33", "Unknown experiment. Known: group-"),
    "audit: nothing": ("audit", "The audit needs --all"),
    "audit: no file": ("audit nowhere.json", "The input cannot be read: No such file"),
    "audit: no specification": ("audit good.csv", "The input: A specification must be JSON"),
    "audit: false claim": ("audit liar.json", "The input: This grr channel has epsilon 1"),
    "audit: unknown name": ("audit --name grrr", "There is no mechanism of this name; did you mean grr"),
    "privatize: no file": (f"privatize nowhere.csv {V} -o out.parquet", "The input cannot be read: No such file"),
    "privatize: folder": (
        f"privatize folder {V} --format csv -o out.parquet",
        "The input cannot be read: Is a directory",
    ),
    "privatize: no column": (
        f"privatize good.csv --column w {GRR} -o out.parquet",
        "occurs 0 times. The header has 2 columns; --public-header lists them.",
    ),
    "privatize: no column in parquet": (
        f"privatize v.parquet --column w {GRR} -o out.parquet",
        "The header has 1 column; --public-header lists them.",
    ),
    "privatize: no column, public header": (
        f"privatize good.csv --column w {GRR} --public-header -o out.parquet",
        "occurs 0 times. The header has 2 columns: v, text.",
    ),
    "privatize: column twice": (f"privatize twice.csv {V} -o out.parquet", "occurs 2 times"),
    "privatize: nothing in it": (f"privatize empty.csv {V} -o out.parquet", "The header has 0 columns"),
    "privatize: broken header": (
        f"privatize broken.csv {V} --public-header -o out.parquet",
        r"The header has 32 columns: '\x1b[2Jq', " + "a" * 57 + "..., " + ", ".join(["1"] * 18) + " and 12 more.",
    ),
    "privatize: old lines": (
        f"privatize mac.csv {V} -o out.parquet",
        "The input: A line of CSV cannot be read: new-line",
    ),
    "privatize: long delimiter": (f"privatize good.csv {V} --delimiter ab -o out.parquet", "'delimiter' parameter"),
    "privatize: no delimiter": (f"privatize good.csv {V} --delimiter '' -o out.parquet", "one ASCII character"),
    "privatize: odd delimiter": (f"privatize good.csv {V} --delimiter § -o out.parquet", "one ASCII character"),
    "privatize: quote delimiter": (f"privatize good.csv {V} --delimiter '\"' -o out.parquet", "other than a quote"),
    "privatize: lines of categories": (
        "privatize good.csv --column v --method grr --epsilon 1 --categories 'a\nb' -o out.parquet",
        "A line of CSV cannot be read",
    ),
    "privatize: ragged": (
        f"privatize ragged.csv {V} -o out.parquet",
        "Row 2 of the data has 3 cells, and the header has 2",
    ),
    "privatize: no text": (
        f"privatize latin.csv --column text {GRR} -o out.parquet",
        "it holds text that is not UTF-8",
    ),
    "privatize: no parquet": (
        f"privatize fake.parquet {V} -o out.parquet",
        "The input cannot be read: it is damaged, cut off, or not of the kind",
    ),
    "privatize: cut parquet": (
        f"privatize cut.parquet {V} -o out.parquet",
        "The input cannot be read: it is damaged, cut off, or not of the kind",
    ),
    "privatize: unknown kind": (f"privatize data.xls {V} -o out.parquet", "add --format csv|parquet|arrow"),
    "privatize: wrong kind": (f"privatize good.csv --format tally {V} -o out.parquet", "must be one of csv, parquet"),
    "privatize: parquet pipe": (f"privatize - --format parquet {V} -o out.parquet", "Standard input is empty"),
    "privatize: outside": (
        f"privatize outside.csv {V} -o out.parquet",
        "2 of 5 values of column 1 of 1 lie outside the domain, the first in row 2 of the data."
        " An answer must be a whole number in [0, 9].",
    ),
    "privatize: empty cell": (f"privatize null.parquet {V} -o out.parquet", "in row 2 of the data: an empty cell"),
    "privatize: lists": (f"privatize list.parquet {V} -o out.parquet", "cannot be read as answers"),
    "privatize: missing": (f"privatize good.csv {V} --missing guess -o out.parquet", "one of refuse, skip, category"),
    "privatize: category of numbers": (
        f"privatize good.csv {V} --missing category -o out.parquet",
        "--missing category is for categories",
    ),
    "privatize: category of a specification": (
        "privatize good.csv --column v --spec spec.json --missing category -o out.parquet",
        "--missing category is for categories",
    ),
    "privatize: delimiter": (
        f"privatize good.csv {V} --delimiter ';' -o out.parquet",
        "The header has 1 column; --public-header lists them. The file seems to have another delimiter: try"
        " --delimiter ','.",
    ),
    "privatize: column named twice": (f"privatize good.csv --column v,v {GRR} -o out.parquet", "a column twice"),
    "privatize: unknown second column": (
        "privatize good.csv --column v,w --epsilon 1 --low 0 --high 9 --method duchi-linf -o out.parquet",
        "Column 2 of --column must occur once",
    ),
    "privatize: columns of categories": (
        "privatize good.csv --column v,text --epsilon 1 --categories a,b -o out.parquet",
        "their budgets add up",
    ),
    "privatize: columns and ranges": (
        "privatize good.csv --column v,text --epsilon 1 --low 0,1,2 --high 9 -o out.parquet",
        "one number each, or 2 numbers with commas",
    ),
    "privatize: columns of a specification": (
        "privatize good.csv --column v,text --spec spec.json -o out.parquet",
        "has 1 column, and --column names 2",
    ),
    "privatize: question of a method": (f"privatize good.csv {V} --question mean -o out.parquet", "--method auto"),
    "privatize: question of categories": (
        "privatize good.csv --column v --epsilon 1 --categories a,b --question mean -o out.parquet",
        "--question must be one of shares",
    ),
    "privatize: variance": (
        "privatize good.csv --column v --epsilon 1 --low 0 --high 9 --question variance -o out.parquet",
        "--question must be one of mean, shares",
    ),
    "privatize: option of no method": (
        "privatize good.csv --column v --epsilon 1 --low 0 --high 9 --option g=4 -o out.parquet",
        "--option is for a method",
    ),
    "privatize: method of the papers": (
        "privatize good.csv --column v --method square-wave --epsilon 1 --low 0 --high 9 -o out.parquet",
        "the square wave is known from the papers, and is not here yet.",
    ),
    "plan: unknown question": ("plan median --low 0 --high 9 --epsilon 1", "one of mean, shares, variance, groups,"),
    "plan: one of three": ("plan mean --low 0 --high 9 --epsilon 1", "two of epsilon, participants and an error"),
    "plan: too few people": (
        "plan shares --low 0 --high 9 --participants 50 --half-width 0.001",
        "No epsilon up to 20 gives this error: more participants are needed.\n",
    ),
    "plan: too many values": (
        "plan shares --low 0 --high 99999999 --epsilon 1 --participants 50",
        "there is no method for so many categories.\n",
    ),
    "plan: no domain": ("plan mean --epsilon 1 --participants 9", "give one of --categories"),
    "plan: groups without values": (
        "plan groups --categories a,b --epsilon 1 --participants 9",
        "A group and its value",
    ),
    "plan: vector without size": ("plan vectors --low 0 --high 1 --epsilon 1 --participants 9", "needs --dimensions"),
    "plan: vector of both kinds": (
        "plan vectors --dimensions 9 --radius 1 --most 2 --epsilon 1 --participants 9",
        "not both",
    ),
    "plan: vector of categories": ("plan vectors --categories a,b --epsilon 1 --participants 9", "numbers only"),
    "plan: mean of categories": (
        "plan mean --categories a,b --epsilon 1 --participants 9",
        "'domain' parameter of mean must be a domain of numbers",
    ),
    "plan: budget": ("plan mean --low 0 --high 9 --epsilon x --participants 9", "'epsilon' parameter of plan"),
    "plan: picture": ("plan mean --low 0 --high 9 --epsilon 1 --participants 9 --picture p.gif", ".svg or .png"),
    "privatize: outside, to csv": (
        f"privatize outside.csv {V} -o out.csv --write-spec out.json",
        "lie outside the domain",
    ),
    "privatize: outside, to a pipe": (f"privatize outside.csv {V} -o -", "lie outside the domain"),
    "privatize: no domain": ("privatize good.csv --column v --method grr --epsilon 1 -o out.parquet", "not inferred"),
    "privatize: two domains": (f"privatize good.csv {V} --categories a,b -o out.parquet", "give one of --categories"),
    "privatize: half a domain": (
        "privatize good.csv --column v --method grr --epsilon 1 --low 0 -o out.parquet",
        "give one of --categories",
    ),
    "privatize: one category": (
        "privatize good.csv --column v --method grr --epsilon 1 --categories a -o out.parquet",
        "at least two distinct texts",
    ),
    "privatize: no method": ("privatize good.csv --column v -o out.parquet", "Which budget? Give --epsilon"),
    "privatize: unknown method": (
        "privatize good.csv --column v --method x --epsilon 1 --low 0 --high 9 -o out.parquet",
        "There is no mechanism of this name",
    ),
    "privatize: budget": (
        "privatize good.csv --column v --method grr --epsilon x --low 0 --high 9 -o out.parquet",
        "'epsilon' parameter of grr must be a number in (0, 20].\n",
    ),
    "privatize: unknown option": (
        f"privatize good.csv {V} --option g=2 -o out.parquet",
        "grr has no such parameter. Known: epsilon.",
    ),
    "privatize: odd option": (f"privatize good.csv {V} --option g -o out.parquet", "of the form name=value"),
    "privatize: budget option": (
        f"privatize good.csv {V} --option epsilon=3 -o out.parquet",
        "'epsilon' cannot be set",
    ),
    "privatize: domain option": (f"privatize good.csv {V} --option domain=3 -o out.parquet", "'domain' cannot be set"),
    "privatize: name option": (f"privatize good.csv {V} --option name=3 -o out.parquet", "'name' cannot be set"),
    "privatize: option twice": (
        f"privatize good.csv {V} --option g=3 --option g=4 -o out.parquet",
        "--option gives one parameter twice",
    ),
    "privatize: bounds": (
        "privatize good.csv --column v --method grr --epsilon 1 --low 0.5 --high 9 -o out.parquet",
        "a whole number, unless --real",
    ),
    "privatize: continuum": (f"privatize good.csv {V} --real -o out.parquet", "not a continuum"),
    "privatize: spec and more": (f"privatize good.csv {V} --spec spec.json -o out.parquet", "leave out the options"),
    "privatize: not pure": ("privatize good.csv --column v --spec impure.json -o out.parquet", "pure guarantees only"),
    "privatize: exists": (f"privatize good.csv {V} -o good.parquet", "The output exists: --force overwrites it"),
    "privatize: spec exists": (
        f"privatize good.csv {V} -o out.parquet --write-spec spec.json",
        "The file for the specification exists",
    ),
    "privatize: into a folder": (f"privatize good.csv {V} -o folder --output-format csv", "it is a folder"),
    "privatize: no folder": (f"privatize good.csv {V} -o no/out.parquet", "its folder does not exist"),
    "privatize: odd output": (f"privatize good.csv {V} -o out.xls", "add --output-format csv|parquet|arrow"),
    "privatize: lonely csv": (f"privatize good.csv {V} -o out.csv", "add --write-spec FILE"),
    "privatize: same place": (f"privatize good.csv {V} -o out.csv --write-spec out.csv", "cannot both go to one file"),
    "privatize: one file": (f"privatize good.csv {V} -o q.parquet --write-spec ./q.parquet", "cannot both go to"),
    "privatize: onto itself": (
        "privatize good.csv --column v --spec spec.json -o folder/../good.csv --force",
        "The output is the input",
    ),
    "privatize: spec onto input": (
        f"privatize good.csv {V} -o out.parquet --write-spec ./good.csv --force",
        "The file for the specification is the input",
    ),
    "privatize: parquet to a pipe": (f"privatize good.csv {V} -o - --output-format parquet", "cannot be written to a"),
    "privatize: full": (f"privatize good.csv {V} -o /dev/full --output-format parquet", "No space left on device"),
    "tally: no file": ("tally nowhere.parquet -o out.tally", "The input cannot be read: No such file"),
    "tally: no reports": ("tally v.parquet -o out.tally", "The input: This file does not say which mechanism"),
    "tally: reports of others": ("tally good.parquet other.parquet -o out.tally", "epsilon: '1' against '2'"),
    "tally: not that of the spec": ("tally other.parquet --spec spec.json -o out.tally", "The input: Cannot count"),
    "tally: other tally": ("tally good.parquet other.tally -o out.tally", "Input 2 of 2: Cannot add tallies"),
    "tally: forged": ("tally forged.parquet -o out.tally", "is invalid for this mechanism"),
    "tally: cut tally": ("tally cut.tally -o out.tally", "The input: This tally is damaged or cut off"),
    "tally: no tally": ("tally fake.tally -o out.tally", "The input: These bytes are not a tally"),
    "tally: cut stream": ("tally cut.arrow -o out.tally", "The input: The stream of reports was cut off after 4"),
    "tally: csv alone": ("tally reports.csv -o out.tally", "CSV does not say which mechanism made it: add --spec"),
    "tally: no csv of reports": ("tally good.csv --spec spec.json -o out.tally", "come with a column 'report'"),
    "tally: no hex": ("tally hex.csv --spec spec.json -o out.tally", "must hold hexadecimal digits"),
    "tally: wrong width": ("tally wide.csv --spec spec.json -o out.tally", "expected 2 hexadecimal digits"),
    "tally: exists": ("tally good.parquet -o other.tally", "The output exists"),
    "tally: onto itself": ("tally good.parquet -o ./good.parquet --force", "The output is the input"),
    "tally: nothing piped": ("tally - -o out.tally", "Standard input is empty"),
    "tally: pipe twice": ("tally - - -o out.tally", "read once only"),
    "tally: full": ("tally good.parquet -o /dev/full", "The output cannot be written: No space left"),
    "estimate: no file": ("estimate nowhere.tally", "The input cannot be read"),
    "estimate: cut": ("estimate cut.tally", "damaged or cut off"),
    "estimate: level": ("estimate good.parquet --level 95", "'level' parameter of ci must be a number in (0, 1)"),
    "estimate: method": ("estimate good.parquet --method bayes", "one of exact, wilson, normal"),
    "estimate: target": ("estimate good.parquet --target all", "'population' or 'sample'"),
    "estimate: projection": (
        "estimate good.parquet --decoder cone",
        "Unknown decoder. Known: ball, base-cut",
    ),
    "estimate: top": ("estimate good.parquet --top 0", "The value of --top must be a number of its type from 1;"),
    "estimate: two forms": ("estimate good.parquet --json --csv", "not as both"),
}
