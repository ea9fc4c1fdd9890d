"""The pantry: word lists of the ingredient lines, each word with its part of speech."""

from chaffinch.samples.chance import phrases

# Countable ingredients in the singular; the plural is regular except for those in PLURALS.
COUNTED = phrases("""
    egg, onion, carrot, lemon, tomato, potato, apple, shallot, lime, leek, clove, courgette, chilli,
    orange, aubergine, pear, red pepper, parsnip, green pepper, beetroot, sweet potato, plum, turnip,
    peach, fennel bulb, chicken thigh, banana, radish, cinnamon stick, bay leaf, spring onion, artichoke,
    cucumber, fig, mackerel fillet, lettuce cup, chicory, duck leg, apricot, quail egg, nectarine,
    kohlrabi, pork chop, quince, date, burger bun, celeriac, swede, salmon fillet, vanilla pod, medlar,
    pitta, sausage, star anise, persimmon, cardamom pod""")

PLURALS = {
    "tomato": "tomatoes",
    "potato": "potatoes",
    "sweet potato": "sweet potatoes",
    "chilli": "chillies",
    "bay leaf": "bay leaves",
    "peach": "peaches",
    "radish": "radishes",
    "chicory": "chicory",
    "kohlrabi": "kohlrabi",
    "star anise": "star anise",
}

# Ingredients that are weighed or measured.
DRY = phrases("""
    plain flour, caster sugar, rice, brown sugar, self-raising flour, spinach, breadcrumbs, red lentils,
    oats, ground almonds, walnuts, cornflour, polenta, sultanas, pine nuts, couscous, strong white flour,
    pearl barley, semolina, ground beef, hazelnuts, buckwheat, wild rice, freekeh, icing sugar,
    dried figs, bulgur wheat, ground coffee, samphire, cocoa powder, sunflower seeds, spelt, ground rice,
    amaranth, pumpkin seeds""")

LIQUID = phrases("""
    milk, olive oil, water, honey, double cream, chicken stock, white wine, cider vinegar, vegetable oil,
    soy sauce, maple syrup, orange juice, coconut milk, buttermilk, dry sherry, whole milk,
    dry white wine, rapeseed oil, lemon juice, molasses, golden syrup, verjuice, cold water, fish sauce,
    dark rum, tomato juice, strong coffee, sour cream, rice vinegar, ginger beer, fish stock,
    elderflower cordial""")

RICH = phrases("""
    butter, cheddar, parmesan, dark chocolate, plain yogurt, tomato paste, mascarpone, ricotta,
    puff pastry, goat cheese, tahini, cream cheese, crème fraîche, salted butter, red leicester,
    marzipan, feta, white chocolate, lard, halloumi, peanut butter, suet""")

SPICES = phrases("""
    ground cumin, salt, black pepper, paprika, ground cinnamon, turmeric, dried oregano, nutmeg,
    ground cloves, smoked paprika, ground coriander, cayenne pepper, caraway seeds, ground ginger,
    mustard powder, sea salt, dried thyme, fennel seeds, allspice, garam masala, sumac, chilli flakes,
    fenugreek, white pepper, za'atar, baking powder, celery salt, ground mace, vanilla extract,
    bicarbonate of soda, asafoetida, ground cardamom""")

HERBS = phrases("""
    parsley, coriander, thyme, mint, basil, dill, rosemary, sage, chives, tarragon, chervil, oregano,
    marjoram, lovage, flat-leaf parsley, lemon thyme, sorrel, savory, watercress, hyssop, borage""")

TINNED = phrases("""
    chopped tomatoes, chickpeas, kidney beans, coconut milk, sweetcorn, sardines, black beans, tuna,
    butter beans, crushed tomatoes, evaporated milk, sliced peaches, anchovies, ground coffee,
    haricot beans, pineapple chunks, cherry tomatoes, bamboo shoots, artichoke hearts, chopped clams,
    hearts of palm""")

# Ingredients that can replace each other.
EITHER = (
    ("butter", "margarine"),
    ("lard", "dripping"),
    ("pecans", "walnuts"),
    ("creme fraiche", "sour cream"),
    ("kale", "chard"),
    ("ghee", "clarified butter"),
    ("pancetta", "smoked bacon"),
    ("rye", "spelt flour"),
    ("goose", "duck fat"),
    ("ricotta", "cottage cheese"),
    ("basmati", "jasmine rice"),
    ("red", "white cabbage"),
    ("venison", "beef"),
    ("cod", "haddock"),
    ("feta", "halloumi"),
)

UNITS = {
    "dry": phrases("g, cup, tbsp, kg, oz, lb, handful"),
    "liquid": phrases("ml, cup, tbsp, litre, tsp, pint, fl oz, dl, quart, glass"),
    "rich": phrases("g, tbsp, oz, cup, lb, knob"),
    "tinned": phrases("g, oz, ml"),
}
SPOONS = phrases("tsp, tbsp, pinch, dash, teaspoon, tablespoon, smidgen")
BUNCHES = phrases("bunch, handful, sprig, small bunch, large handful, stalk, fistful")
PACKS = phrases("can, jar, tin, packet, bag, carton, pouch, punnet, bottle, tub, box")
PIECES = (
    ("clove", "garlic"),
    ("slice", "bread"),
    ("stick", "celery"),
    ("head", "garlic"),
    ("rasher", "bacon"),
    ("stick", "butter"),
    ("knob", "ginger"),
    ("sheet", "filo pastry"),
    ("head", "broccoli"),
    ("slice", "ham"),
    ("can", "cola"),
    ("cup", "strong coffee"),
    ("wedge", "stilton"),
    ("ear", "corn"),
)

SIZES = phrases("large, small, medium, big, medium-sized, little, extra-large, heaped, generous, thumb-sized")

# Preparations before cooking.
PREPS_COUNTED = phrases("""
    chopped/VBN, sliced/VBN, diced/VBN, finely/RB chopped/VBN, peeled/VBN, grated/VBN, halved/VBN,
    thinly/RB sliced/VBN, beaten/VBN, crushed/VBN, trimmed/VBN, cored/VBN, minced/VBN, torn/VBN,
    roughly/RB chopped/VBN, peeled/VBN and/CC chopped/VBN, cut/VBN into/IN small/JJ cubes/NNS,
    cut/VBN into/IN 2/CD cm/NN pieces/NNS, ground/VBN to/TO a/DT paste/NN, julienned/VBN, stoned/VBN,
    halved/VBN lengthways/RB, cut/VBN into/IN large/JJ chunks/NNS, juice/NN only/RB, pitted/VBN,
    in/IN thick/JJ slices/NNS, zested/VBN, quartered/VBN, cut/VBN into/IN 4/CD wedges/NNS,
    grated/VBN zest/NN only/RB, deseeded/VBN, shredded/VBN, cut/VBN in/IN half/NN, blanched/VBN,
    scored/VBN""")

PREPS_DRY = phrases("""
    sifted/VBN, toasted/VBN, rinsed/VBN and/CC drained/VBN, coarsely/RB ground/VBN, soaked/VBN overnight/RB,
    chopped/VBN, washed/VBN, thawed/VBN, cooked/VBN and/CC cooled/VBN, finely/RB ground/VBN, ground/VBN,
    roughly/RB chopped/VBN, picked/VBN over/RP, blitzed/VBN""")

PREPS_LIQUID = phrases("""
    warmed/VBN, chilled/VBN, at/IN room/NN temperature/NN, strained/VBN, freshly/RB squeezed/VBN, whisked/VBN,
    boiled/VBN, brought/VBN to/TO a/DT simmer/NN, shaken/VBN""")

PREPS_RICH = phrases("""
    melted/VBN, softened/VBN, grated/VBN, at/IN room/NN temperature/NN,
    cut/VBN into/IN small/JJ cubes/NNS, crumbled/VBN, chilled/VBN, chopped/VBN,
    in/IN thick/JJ slices/NNS, shaved/VBN, cut/VBN into/IN 1/CD cm/NN cubes/NNS""")

PREPS_HERB = phrases("""
    chopped/VBN, finely/RB chopped/VBN, leaves/NNS picked/VBN, roughly/RB chopped/VBN, torn/VBN, snipped/VBN,
    shredded/VBN, large/JJ leaves/NNS torn/VBN, leaves/NNS and/CC stalks/NNS separated/VBN, washed/VBN""")

PREPS_SPICE = phrases("""
    freshly/RB ground/VBN, toasted/VBN, lightly/RB crushed/VBN, ground/VBN, coarsely/RB ground/VBN,
    grated/VBN, sifted/VBN""")

PREPS_TINNED = phrases("""
    drained/VBN, rinsed/VBN and/CC drained/VBN, mashed/VBN, crushed/VBN, roughly/RB chopped/VBN, flaked/VBN,
    strained/VBN, heads/NNS removed/VBN""")

COMMENTS = phrases("""
    optional/JJ, to/TO taste/VB, or/CC more/JJR to/TO taste/VB, about/IN 1/CD large/JJ one/NN,
    if/IN you/PRP can/MD find/VB it/PRP, plus/CC extra/JJ, if/IN needed/VBN, preferably/RB organic/JJ,
    see/VB note/NN, or/CC as/RB needed/VBN, the/DT best/JJS you/PRP can/MD get/VB, at/IN least/JJS,
    from/IN the/DT recipe/NN on/IN page/NN 12/CD, homemade/JJ if/IN possible/JJ,
    any/DT kind/NN will/MD do/VB, not/RB too/RB ripe/JJ, or/CC 2/CD small/JJ ones/NNS,
    whatever/WP is/VBZ in/IN season/NN, large/JJ if/IN possible/JJ, or/CC use/VB frozen/JJ,
    such/JJ as/IN your/PRP$ neighbour/NN grows/VBZ, more/JJR than/IN you/PRP think/VBP,
    as/RB ripe/JJ as/IN a/DT good/JJ joke/NN, or/CC a/DT can/NN, ask/VB the/DT fishmonger/NN,
    ground/VBN is/VBZ fine/JJ""")

PURPOSES = phrases("""
    for/IN the/DT sauce/NN, to/TO serve/VB, for/IN dusting/VBG, to/TO garnish/VB, for/IN frying/VBG,
    for/IN the/DT filling/NN, for/IN greasing/VBG, for/IN the/DT topping/NN, for/IN brushing/VBG,
    for/IN the/DT dressing/NN, to/TO finish/VB, for/IN the/DT crumble/NN, for/IN drizzling/VBG,
    for/IN the/DT marinade/NN, for/IN sprinkling/VBG, to/TO glaze/VB, for/IN the/DT salad/NN,
    for/IN the/DT syrup/NN, for/IN rolling/VBG, to/TO decorate/VB, for/IN the/DT guests/NNS""")
