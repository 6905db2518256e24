"""The fixed sentences that participants read, in each language; numbers and names are put in by the page.

A study in another language is refused: a text that participants agree to must not be half in one language and half in
another. Labels and texts of questions come from the study file.
"""

from __future__ import annotations

from collections.abc import Mapping

from sottovoce.core.errors import ParameterError

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "Consent: {name}",
        "asks": "{owner} asks you to take part in the study {name}{until}. Purpose: {purpose}",
        "until": ", from {start} to {end}",
        "happens": "What happens to your answer",
        "all asked": "The page asks you all of the questions below. Your device then draws one of them by chance, adds"
        " noise to your answer to it, and sends that one noisy answer. Your other answers are not sent at all. Nobody"
        " but you sees the answers themselves: not the people who run the study, nor the server.",
        "one asked": "The page asks you the question below. Your device adds noise to your answer before it sends"
        " anything. Nobody but you sees the answer itself: not the people who run the study, nor the server.",
        "question": "question",
        "answers": "possible answers",
        "number": "a number from {low} to {high}",
        "around": "a number from 0 to {high}",
        "and_number": "and a number from {low} to {high}",
        "also": "you may also say",
        "nothing": "nothing else",
        "means": "What it means for you",
        "budget": "The privacy budget is epsilon {epsilon} for one {unit}. Whatever is sent changes the odds between"
        " two"
        " possible answers of yours by at most a factor {odds}. Who has to guess between two equally likely answers is"
        " right at most {guess} % of the time instead of 50 %.",
        "lifetime": "In this whole study your device spends at most {lifetime}. It computes these numbers"
        " itself,"
        " and refuses to send anything that would exceed them.",
        "sent": "Everything that is sent",
        "field": "field",
        "what": "what it is",
        "rights": "Your rights",
        "voluntary": "Taking part is voluntary, and you may stop at any time; what has not been sent is then deleted.",
        "sums": "What has been sent was added to sums and cannot be taken out: nobody knows which part is yours.",
        "contact": "Questions: {contact}.",
        "person": "person",
        "device": "device",
        "event": "event",
        "field version": "of the wire format",
        "field manifest": "the first {prefix} bytes of the hash of this manifest",
        "field epoch": "a number of the day or week of the study, the same for everyone",
        "field round": "a number",
        "field arm": "which question was asked; drawn from the id, not chosen",
        "field id": "{id} random bytes, drawn for this report only",
        "field payload": "the answer after noise, {size} bytes",
    },
    "de": {
        "title": "Einwilligung: {name}",
        "asks": "{owner} bittet Sie, an der Studie {name} teilzunehmen{until}. Zweck: {purpose}",
        "until": ", vom {start} bis zum {end}",
        "happens": "Was mit Ihrer Antwort geschieht",
        "all asked": "Die Seite stellt Ihnen alle Fragen unten. Ihr Gerät lost dann eine davon aus, verrauscht Ihre"
        " Antwort darauf und sendet diese eine verrauschte Antwort. Ihre übrigen Antworten werden gar nicht gesendet."
        " Niemand außer Ihnen sieht die Antworten selbst: weder die Menschen, die die Studie durchführen, noch der"
        " Server.",
        "one asked": "Die Seite stellt Ihnen die Frage unten. Ihr Gerät verrauscht Ihre Antwort, bevor es etwas"
        " sendet. Niemand außer Ihnen sieht die Antwort selbst: weder die Menschen, die die Studie durchführen, noch"
        " der Server.",
        "question": "Frage",
        "answers": "mögliche Antworten",
        "number": "eine Zahl von {low} bis {high}",
        "around": "eine Zahl von 0 bis {high}",
        "and_number": "und eine Zahl von {low} bis {high}",
        "also": "Sie können auch sagen",
        "nothing": "nichts weiter",
        "means": "Was das für Sie bedeutet",
        "budget": "Das Privatheitsbudget ist Epsilon {epsilon} für {unit}. Was auch gesendet wird, ändert das"
        " Chancenverhältnis zwischen zwei möglichen Antworten von Ihnen höchstens um den Faktor {odds}. Wer zwischen"
        " zwei"
        " gleich wahrscheinlichen Antworten raten muss, liegt in höchstens {guess} % der Fälle richtig statt in 50 %.",
        "lifetime": "In der ganzen Studie gibt Ihr Gerät höchstens {lifetime} aus. Es berechnet diese Zahlen"
        " selbst und weigert sich, etwas zu senden, das sie überschreiten würde.",
        "sent": "Alles, was gesendet wird",
        "field": "Feld",
        "what": "was es ist",
        "rights": "Ihre Rechte",
        "voluntary": "Die Teilnahme ist freiwillig, und Sie können jederzeit aufhören; was noch nicht gesendet ist,"
        " wird"
        " dann gelöscht.",
        "sums": "Was gesendet ist, wurde zu Summen addiert und kann nicht entfernt werden: niemand weiß, welcher Teil"
        " von"
        " Ihnen ist.",
        "contact": "Fragen: {contact}.",
        "person": "eine Person",
        "device": "ein Gerät",
        "event": "ein Ereignis",
        "field version": "des Übertragungsformats",
        "field manifest": "die ersten {prefix} Bytes des Hashwerts dieses Manifests",
        "field epoch": "eine Nummer des Tages oder der Woche der Studie, für alle gleich",
        "field round": "eine Nummer",
        "field arm": "welche Frage gestellt wurde; aus der Kennung gelost, nicht gewählt",
        "field id": "{id} zufällige Bytes, nur für diesen Bericht gezogen",
        "field payload": "die verrauschte Antwort, {size} Bytes",
    },
    "fr": {
        "title": "Consentement : {name}",
        "asks": "{owner} vous invite à participer à l'étude {name}{until}. But : {purpose}",
        "until": ", du {start} au {end}",
        "happens": "Ce que devient votre réponse",
        "all asked": "La page vous pose toutes les questions ci-dessous. Votre appareil en tire ensuite une au sort,"
        " ajoute du bruit à votre réponse à celle-ci et envoie cette seule réponse bruitée. Vos autres réponses ne sont"
        " pas envoyées du tout. Personne d'autre que vous ne voit les réponses elles-mêmes : ni les responsables de"
        " l'étude, ni le serveur.",
        "one asked": "La page vous pose la question ci-dessous. Votre appareil ajoute du bruit à votre réponse avant"
        " d'envoyer quoi que ce soit. Personne d'autre que vous ne voit la réponse elle-même : ni les responsables de"
        " l'étude, ni le serveur.",
        "question": "question",
        "answers": "réponses possibles",
        "number": "un nombre de {low} à {high}",
        "around": "un nombre de 0 à {high}",
        "and_number": "et un nombre de {low} à {high}",
        "also": "vous pouvez aussi dire",
        "nothing": "rien d'autre",
        "means": "Ce que cela signifie pour vous",
        "budget": "Le budget de confidentialité est epsilon {epsilon} pour {unit}. Quoi qu'il soit envoyé, le rapport"
        " des"
        " chances entre deux de vos réponses possibles change au plus d'un facteur {odds}. Celui qui doit deviner entre"
        " deux réponses également probables a raison dans au plus {guess} % des cas, au lieu de 50 %.",
        "lifetime": "Dans toute cette étude, votre appareil dépense au plus {lifetime}. Il calcule"
        " lui-même"
        " ces nombres et refuse d'envoyer ce qui les dépasserait.",
        "sent": "Tout ce qui est envoyé",
        "field": "champ",
        "what": "ce que c'est",
        "rights": "Vos droits",
        "voluntary": "La participation est volontaire et vous pouvez arrêter à tout moment ; ce qui n'a pas été"
        " envoyé est"
        " alors effacé.",
        "sums": "Ce qui a été envoyé a été ajouté à des sommes et ne peut pas en être retiré : personne ne sait quelle"
        " part est la vôtre.",
        "contact": "Questions : {contact}.",
        "person": "une personne",
        "device": "un appareil",
        "event": "un événement",
        "field version": "du format de transmission",
        "field manifest": "les {prefix} premiers octets de l'empreinte de ce manifeste",
        "field epoch": "un numéro du jour ou de la semaine de l'étude, le même pour tous",
        "field round": "un numéro",
        "field arm": "quelle question a été posée ; tirée de l'identifiant, non choisie",
        "field id": "{id} octets aléatoires, tirés pour ce seul rapport",
        "field payload": "la réponse avec le bruit, {size} octets",
    },
    "es": {
        "title": "Consentimiento: {name}",
        "asks": "{owner} le invita a participar en el estudio {name}{until}. Finalidad: {purpose}",
        "until": ", del {start} al {end}",
        "happens": "Qué ocurre con su respuesta",
        "all asked": "La página le hace todas las preguntas siguientes. Su dispositivo sortea después una de ellas,"
        " añade ruido a su respuesta a esa pregunta y envía esa única respuesta con ruido. Sus otras respuestas no se"
        " envían. Nadie más que usted ve las respuestas mismas: ni quienes dirigen el estudio ni el servidor.",
        "one asked": "La página le hace la pregunta siguiente. Su dispositivo añade ruido a su respuesta antes de"
        " enviar nada. Nadie más que usted ve la respuesta misma: ni quienes dirigen el estudio ni el servidor.",
        "question": "pregunta",
        "answers": "respuestas posibles",
        "number": "un número de {low} a {high}",
        "around": "un número de 0 a {high}",
        "and_number": "y un número de {low} a {high}",
        "also": "también puede decir",
        "nothing": "nada más",
        "means": "Qué significa para usted",
        "budget": "El presupuesto de privacidad es épsilon {epsilon} para {unit}. Sea lo que sea lo que se envía,"
        " cambia"
        " la razón de probabilidades entre dos respuestas posibles suyas como máximo en un factor {odds}. Quien tenga"
        " que adivinar entre dos respuestas igualmente probables acierta como máximo el {guess} % de las veces, en"
        " lugar"
        " del 50 %.",
        "lifetime": "En todo este estudio su dispositivo gasta como máximo {lifetime}. Calcula estos"
        " números él mismo y se niega a enviar nada que los supere.",
        "sent": "Todo lo que se envía",
        "field": "campo",
        "what": "qué es",
        "rights": "Sus derechos",
        "voluntary": "La participación es voluntaria y puede dejarlo en cualquier momento; lo que aún no se ha"
        " enviado se"
        " borra entonces.",
        "sums": "Lo que se ha enviado se ha añadido a sumas y no se puede quitar: nadie sabe qué parte es la suya.",
        "contact": "Preguntas: {contact}.",
        "person": "una persona",
        "device": "un dispositivo",
        "event": "un suceso",
        "field version": "del formato de transmisión",
        "field manifest": "los primeros {prefix} bytes del hash de este manifiesto",
        "field epoch": "un número del día o de la semana del estudio, el mismo para todos",
        "field round": "un número",
        "field arm": "qué pregunta se hizo; sorteada a partir del identificador, no elegida",
        "field id": "{id} bytes aleatorios, sorteados solo para este informe",
        "field payload": "la respuesta con ruido, {size} bytes",
    },
    "it": {
        "title": "Consenso: {name}",
        "asks": "{owner} La invita a partecipare allo studio {name}{until}. Scopo: {purpose}",
        "until": ", dal {start} al {end}",
        "happens": "Che cosa succede alla Sua risposta",
        "all asked": "La pagina Le pone tutte le domande qui sotto. Il Suo dispositivo ne sorteggia poi una, aggiunge"
        " rumore alla Sua risposta a quella domanda e invia solo quella risposta con il rumore. Le altre Sue risposte"
        " non vengono inviate. Nessuno tranne Lei vede le risposte stesse: né chi conduce lo studio, né il server.",
        "one asked": "La pagina Le pone la domanda qui sotto. Il Suo dispositivo aggiunge rumore alla risposta prima di"
        " inviare qualsiasi cosa. Nessuno tranne Lei vede la risposta stessa: né chi conduce lo studio, né il server.",
        "question": "domanda",
        "answers": "risposte possibili",
        "number": "un numero da {low} a {high}",
        "around": "un numero da 0 a {high}",
        "and_number": "e un numero da {low} a {high}",
        "also": "può anche dire",
        "nothing": "nient'altro",
        "means": "Che cosa significa per Lei",
        "budget": "Il budget di riservatezza è epsilon {epsilon} per {unit}. Qualunque cosa venga inviata cambia il"
        " rapporto di probabilità fra due Sue risposte possibili al massimo di un fattore {odds}. Chi deve indovinare"
        " fra"
        " due risposte ugualmente probabili ha ragione al massimo nel {guess} % dei casi invece che nel 50 %.",
        "lifetime": "In tutto questo studio il Suo dispositivo spende al massimo {lifetime}. Calcola da sé"
        " questi numeri e rifiuta di inviare ciò che li supererebbe.",
        "sent": "Tutto ciò che viene inviato",
        "field": "campo",
        "what": "che cos'è",
        "rights": "I Suoi diritti",
        "voluntary": "La partecipazione è volontaria e può smettere in qualsiasi momento; ciò che non è stato inviato"
        " viene allora cancellato.",
        "sums": "Ciò che è stato inviato è stato aggiunto a somme e non può essere tolto: nessuno sa quale parte sia la"
        " Sua.",
        "contact": "Domande: {contact}.",
        "person": "una persona",
        "device": "un dispositivo",
        "event": "un evento",
        "field version": "del formato di trasmissione",
        "field manifest": "i primi {prefix} byte dell'hash di questo manifesto",
        "field epoch": "un numero del giorno o della settimana dello studio, uguale per tutti",
        "field round": "un numero",
        "field arm": "quale domanda è stata posta; sorteggiata dall'identificativo, non scelta",
        "field id": "{id} byte casuali, sorteggiati solo per questo rapporto",
        "field payload": "la risposta con il rumore, {size} byte",
    },
}
LANGUAGES = tuple(SENTENCES)


def known(language: str) -> bool:
    """Whether there are sentences in a language; de-AT is German."""
    return language.partition("-")[0] in SENTENCES


def sentences(language: str) -> Mapping[str, str]:
    """All sentences of a language."""
    if not known(language):
        raise ParameterError(
            f"There are no sentences for participants in this language: use {', '.join(LANGUAGES)}, or translate them"
            " in `study/dossier/sentences.py`."
        )
    return SENTENCES[language.partition("-")[0]]
