"""Irregular forms of English, which no rule of endings brings together."""

from __future__ import annotations

_FORMS = """
    arise arose arisen, awake awoke awoken, bear bore borne, beat beaten, become became, begin began begun,
    bend bent, bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought,
    build built, burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came,
    creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven,
    eat ate eaten, fall fallen, feed fed, fight fought, flee fled, fly flew flown, forbid forbade forbidden,
    forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given,
    go went gone goes, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept,
    know knew known, lay laid, lead led, lean leant, leap leapt, learn learnt, lend lent, lie lain,
    light lit, lose lost, make made, mean meant, meet met, mistake mistook mistaken, overcome overcame,
    override overrode overridden, overwrite overwrote overwritten, pay paid, prove proven, rebuild rebuilt,
    redo redid redone, rerun reran, rewrite rewrote rewritten, ride rode ridden, ring rang rung, rise risen,
    run ran, say said, see seen, seek sought, sell sold, send sent, sew sewn, shake shook shaken,
    shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat,
    sleep slept, slide slid, speak spoke spoken, speed sped, spend spent, spin spun, spring sprang sprung,
    stand stood, steal stole stolen, stick stuck, strike struck, swear swore sworn, sweep swept,
    swell swollen, swim swam swum, swing swung, take took taken, teach taught, tear tore torn, tell told,
    think thought, throw threw thrown, undergo underwent undergone, understand understood,
    undo undid undone, unwind unwound, wake woke woken, wear wore worn, weave wove woven, weep wept,
    win won, withdraw withdrew withdrawn, write wrote written,
    child children, person people, man men, woman women, foot feet, tooth teeth, mouse mice, goose geese,
    wife wives, knife knives, shelf shelves, half halves, wolf wolves, loaf loaves, thief thieves,
    bad worse worst, vertex vertices, matrix matrices, schema schemata, criterion criteria
"""

BASES = {form: forms[0] for forms in map(str.split, _FORMS.split(",")) for form in forms[1:]}
"""Form to base. Left out are forms that are words of their own as often: `left`, `saw`, `felt`, `found`,
`fell`, `rose`, `bound`, `ground`, `leaves`, `lives`, `better`."""
