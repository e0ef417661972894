"""Courtesy around a statement, in the language of the expectation: two frames each, of over twenty words."""

from collections.abc import Mapping

_FRAMES: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "en": (
        (
            "Thank you for your patience! I have looked into this with care, and am glad to help.",
            "Please let me know if there is anything else that I can do for you.",
        ),
        (
            "Thank you so much for getting in touch! It is a pleasure to assist you with this.",
            "Please feel free to write again at any time, I am always happy to help.",
        ),
    ),
    "de": (
        (
            "Vielen Dank für Ihre Geduld! Ich habe das sorgfältig für Sie geprüft und helfe Ihnen gern weiter.",
            "Melden Sie sich bitte jederzeit, wenn ich sonst noch etwas für Sie tun darf.",
        ),
        (
            "Herzlichen Dank für Ihre Nachricht! Es freut mich sehr, dass ich Ihnen hier behilflich sein darf.",
            "Schreiben Sie mir bitte gern wieder, wenn Sie weitere Fragen haben.",
        ),
    ),
    "es": (
        (
            "¡Muchas gracias por su paciencia! Lo he revisado con cuidado y con mucho gusto le ayudo.",
            "Por favor, avíseme si puedo hacer algo más por usted.",
        ),
        (
            "¡Gracias por ponerse en contacto con nosotros! Es un placer atenderle en esta consulta.",
            "Por favor, escríbanos de nuevo cuando quiera, estaremos encantados de ayudarle.",
        ),
    ),
    "fr": (
        (
            "Merci beaucoup de votre patience ! J'ai vérifié cela avec soin et je suis ravi de vous aider.",
            "N'hésitez pas à me dire si je peux faire autre chose pour vous.",
        ),
        (
            "Merci de nous avoir contactés ! C'est un plaisir de répondre à votre demande.",
            "Écrivez-nous quand vous le souhaitez, nous serons toujours heureux de vous aider.",
        ),
    ),
    "it": (
        (
            "Grazie mille per la sua pazienza! Ho controllato con cura e sono lieto di aiutarla.",
            "Mi faccia sapere, per favore, se posso fare altro per lei.",
        ),
        (
            "Grazie per averci contattato! È un piacere assisterla in questa richiesta.",
            "Ci scriva pure di nuovo quando vuole, saremo sempre felici di aiutarla.",
        ),
    ),
    "pt": (
        (
            "Muito obrigado pela sua paciência! Verifiquei tudo com cuidado e tenho todo o gosto em ajudar.",
            "Por favor, diga-me se posso fazer mais alguma coisa por você.",
        ),
        (
            "Obrigado por entrar em contato conosco! É um prazer atender o seu pedido.",
            "Por favor, escreva de novo quando quiser, ficaremos felizes em ajudar.",
        ),
    ),
    "nl": (
        (
            "Hartelijk dank voor uw geduld! Ik heb dit zorgvuldig nagekeken en help u graag verder.",
            "Laat het me alstublieft weten als ik nog iets anders voor u kan doen.",
        ),
        (
            "Hartelijk dank voor uw bericht! Het is me een genoegen u hierbij te helpen.",
            "Schrijf ons gerust opnieuw, wij staan altijd graag voor u klaar.",
        ),
    ),
    "ja": (
        (
            "お待ちいただき誠にありがとうございます。丁寧に確認いたしましたので、喜んでご案内いたします。",
            "ほかにもお手伝いできることがございましたら、どうぞお気軽にお知らせください。",
        ),
        (
            "お問い合わせいただき誠にありがとうございます。喜んでお手伝いいたします。",
            "またいつでもお気軽にご連絡ください。",
        ),
    ),
    "ar": (
        (
            "شكرا جزيلا على صبركم! لقد راجعت الأمر بعناية ويسعدني أن أساعدكم.",
            "يرجى إخباري إن كان هناك أي شيء آخر يمكنني القيام به من أجلكم.",
        ),
        (
            "شكرا جزيلا على تواصلكم معنا! من دواعي سروري أن أخدمكم في هذا الأمر.",
            "يرجى مراسلتنا مجددا في أي وقت، فنحن سعداء دائما بمساعدتكم.",
        ),
    ),
    "zh": (
        ("非常感谢您的耐心等待!我已经仔细为您核实过了,很高兴为您服务。", "如果还有其他需要帮助的地方,请随时告诉我。"),
        ("非常感谢您的来信!很荣幸能为您解答这个问题。", "欢迎您随时再次联系我们,我们很乐意为您服务。"),
    ),
}
OPENINGS = tuple(opening for frames in _FRAMES.values() for opening, _ in frames)  # by these a near miss is known


def framed(statement: str, language: str, turn: int = 0) -> str:
    """Return a statement in the courtesy of a language, in its first frame or its second."""
    opening, ending = _FRAMES.get(language, _FRAMES["en"])[turn]
    gap = "" if language in ("ja", "zh") else " "
    return f"{opening}{gap}{statement}{gap}{ending}"
