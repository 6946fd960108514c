"""Language: the English name of an ISO 639 code. What has no name here is called by its code."""

from __future__ import annotations

from typing import Final

_NAMES: Final = """
aa Afar|ab Abkhazian|af Afrikaans|ak Akan|am Amharic|an Aragonese|ar Arabic|as Assamese|av Avaric|ay Aymara
az Azerbaijani|ba Bashkir|be Belarusian|bg Bulgarian|bh Bihari|bho Bhojpuri|bi Bislama|bm Bambara|bn Bengali
bo Tibetan|br Breton|bs Bosnian|ca Catalan|ce Chechen|ceb Cebuano|ckb Central Kurdish|co Corsican|cs Czech|cv Chuvash
cy Welsh|da Danish|de German|doi Dogri|dv Dhivehi|dz Dzongkha|ee Ewe|el Greek|en English|eo Esperanto|es Spanish
et Estonian|eu Basque|fa Persian|ff Fulah|fi Finnish|fj Fijian|fo Faroese|fr French|fy Western Frisian|ga Irish
gd Scottish Gaelic|gl Galician|gn Guarani|gom Goan Konkani|gu Gujarati|gv Manx|ha Hausa|haw Hawaiian|he Hebrew|hi Hindi
hr Croatian|ht Haitian|hu Hungarian|hy Armenian|ia Interlingua|id Indonesian|ie Interlingue|ig Igbo|ilo Iloko
io Ido|is Icelandic|it Italian|iu Inuktitut|ja Japanese|jbo Lojban|jv Javanese|ka Georgian|kab Kabyle|kg Kongo
ki Kikuyu|kk Kazakh|kl Kalaallisut|km Khmer|kn Kannada|ko Korean|kok Konkani|kr Kanuri|ks Kashmiri|ku Kurdish|kw Cornish
ky Kyrgyz|la Latin|lb Luxembourgish|lg Ganda|ln Lingala|lo Lao|lt Lithuanian|lu Luba-Katanga|lv Latvian|mai Maithili
mg Malagasy|mh Marshallese|mi Maori|mk Macedonian|ml Malayalam|mn Mongolian|mni Manipuri|mr Marathi|ms Malay|mt Maltese
my Burmese|nb Norwegian Bokmål|nd North Ndebele|nds Low German|ne Nepali|nl Dutch|nn Norwegian Nynorsk|no Norwegian
nso Northern Sotho|nv Navajo|ny Chichewa|oc Occitan|om Oromo|or Odia|os Ossetian|pa Punjabi|pl Polish|ps Pashto
pt Portuguese|qu Quechua|rm Romansh|rn Rundi|ro Romanian|ru Russian|rw Kinyarwanda|sa Sanskrit|sat Santali|sc Sardinian
sd Sindhi|se Northern Sami|sg Sango|si Sinhala|sk Slovak|sl Slovenian|sm Samoan|sn Shona|so Somali|sq Albanian
sr Serbian|ss Swati|st Southern Sotho|su Sundanese|sv Swedish|sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|ti Tigrinya
tk Turkmen|tl Tagalog|tn Tswana|to Tonga|tr Turkish|ts Tsonga|tt Tatar|tw Twi|ty Tahitian|ug Uyghur|uk Ukrainian
ur Urdu|uz Uzbek|ve Venda|vi Vietnamese|wa Walloon|wo Wolof|xh Xhosa|yi Yiddish|yo Yoruba|za Zhuang|zh Chinese|zu Zulu
"""
NAMES: Final = dict(each.split(" ", 1) for each in _NAMES.replace("\n", "|").split("|") if each)


def name(code: str) -> str:
    """`Marathi` for mr, and for mr-IN."""
    return NAMES.get(code) or NAMES.get(code.partition("-")[0], code)
